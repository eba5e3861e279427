/** The panel's program, against the service itself and against one whose answers get lost. */
import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createAdmin, createUtilityApi } from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import { memoryStorage } from 'utility-api/storage/memory'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'

const storage = memoryStorage()
const admin = createAdmin({ storage })
const api = createUtilityApi({ storage, dns: false, blockgame: false })
const operations = toNodeHandler(api)
let listener: RequestListener = operations
let url: string
const { resellerId, token } = await admin.createReseller()
const server = createServer((request, response) => listener(request, response))
const php = 'php'
const hasPhp = spawnSync(php, ['-v']).status === 0

beforeAll(async () => {
  if (!hasPhp) console.warn('PHP: skipped, needs the Debian package php-cli.')
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

beforeEach(({ skip }) => {
  skip(!hasPhp, 'needs the Debian package php-cli')
  listener = operations
})

afterAll(async () => {
  server.closeAllConnections()
  server.close()
  await api.close()
})

/** Runs the program, and returns what it prints, or what it says as it fails. */
function panel(...args: string[]): Promise<{ code: unknown; printed: string }> {
  const env = { PATH: process.env['PATH'], LICENSE_SERVER: url, RESELLER_TOKEN: token }
  return new Promise((resolve) => {
    execFile(php, [join(import.meta.dirname, 'panel.php'), ...args], { env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : error.code, printed: (stdout + stderr).trimEnd() })
    })
  })
}

test('an order is sold once, under a name in any script', async () => {
  const first = await panel('sell', '4711', '山田 Łukasz', 'münchen.example')
  expect(first).toEqual({ code: 0, printed: expect.stringMatching(/^LIC(?:-\w{5}){5}$/) })
  expect(await panel('sell', '4711', '山田 Łukasz', 'münchen.example')).toEqual(first)
  expect(await admin.getLicense(first.printed)).toMatchObject({
    registeredTo: '山田 Łukasz',
    domainOrIp: 'münchen.example',
    status: 'valid',
    resellerId,
  })
  const other = await panel('sell', '4711', 'Eve', 'münchen.example')
  expect(other).toEqual({ code: 1, printed: expect.stringMatching(/^The license service: .* \(422\)$/) })
})

test('a license is moved, suspended and unsuspended', async () => {
  const { printed: key } = await panel('sell', '4712', 'Ada', 'old.example')
  expect(await panel('move', key, 'new.example')).toMatchObject({ code: 0 })
  expect(await panel('suspend', key.toLowerCase())).toMatchObject({ code: 0 })
  expect(await admin.getLicense(key)).toMatchObject({ domainOrIp: 'new.example', status: 'invalid' })
  expect(await panel('unsuspend', key)).toMatchObject({ code: 0 })
  expect(await admin.getLicense(key)).toMatchObject({ domainOrIp: 'new.example', status: 'valid' })
  expect(await panel('move', key, 'https://a.example/')).toMatchObject({ code: 1 })
  expect(await panel('move', 'LIC-1', 'a.example')).toMatchObject({ code: 1 })
})

test.each([[], ['sell', '4711', 'Ada'], ['suspend'], ['refund', '4711']])(
  'arguments that are missing or unknown get the usage: %s',
  async (...args) => {
    expect(await panel(...args)).toEqual({ code: 2, printed: expect.stringMatching(/^Usage: .*DOMAIN/) })
  },
)

test('a lost answer makes no second license', async () => {
  const before = await admin.countLicenses({ resellerId })
  let requests = 0
  listener = (request, response) => {
    requests += 1
    if (requests === 1) loseAnswer(response)
    operations(request, response)
  }
  expect(await panel('sell', '4713', 'Ada', 'shop.example')).toMatchObject({ code: 0 })
  expect(requests).toBe(2)
  expect(await admin.countLicenses({ resellerId })).toBe(before + 1)
})

/** Lets the operation do its work, and closes the connection in the place of its answer. */
function loseAnswer(response: ServerResponse): void {
  response.writeHead = () => response.destroy() as ServerResponse
  response.end = () => response.destroy() as ServerResponse
}

test('a name with a line feed begins no header of its own', async () => {
  const { printed: key } = await panel('sell', '4714', 'Ada\r\nX-Status: invalid', 'shop.example')
  expect(await admin.getLicense(key)).toMatchObject({
    registeredTo: 'Ada X-Status: invalid',
    status: 'valid',
  })
})
