import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { DnsCheckResult } from 'utility-api'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { devPages } from '../../../adapters/cli/serving/dev-pages.ts'
import { createDevWorld, type DevWorld } from '../../../adapters/cli/serving/dev-world.ts'
import { createService, type Service } from '../../../adapters/cli/serving/http-service.ts'
import { rawClient, rawRequestText } from '../../http/support/raw.ts'

// What the page of `dev` is served with; dev-page.long.test.ts has the page in a browser.

let world: DevWorld
let service: Service
let url: string

beforeAll(async () => {
  world = await createDevWorld({})
  const options = { prefix: '', trustProxy: 0, openapi: true, pages: devPages(world) }
  service = createService(world.api, options)
  await once(service.server.listen(0, '127.0.0.1'), 'listening')
  url = `http://127.0.0.1:${(service.server.address() as AddressInfo).port}`
})

afterAll(async () => {
  service.server.closeAllConnections()
  service.server.close()
  await world[Symbol.asyncDispose]()
})

/** Asks with a `Host` that `fetch` would not send. */
async function askAs(host: string, path: string): Promise<IncomingMessage> {
  const [answer] = (await once(request(url + path, { headers: { host } }).end(), 'response')) as [
    IncomingMessage,
  ]
  return answer
}

test('the page may run only its own script, and fetch only from its own origin', async () => {
  const answer = await fetch(url)
  expect(answer.status).toBe(200)
  expect(answer.headers.get('Content-Type')).toBe('text/html; charset=utf-8')
  const policy = (answer.headers.get('Content-Security-Policy') ?? '').split('; ')
  expect(policy).toEqual([
    "default-src 'none'",
    expect.stringMatching(/^style-src 'sha256-[\w+/]{43}='$/),
    expect.stringMatching(/^script-src 'sha256-[\w+/]{43}='$/),
    'img-src data:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ])
  const page = await answer.text()
  expect(Number(answer.headers.get('Content-Length'))).toBe(Buffer.byteLength(page))
  // As docs/guide/command.md says.
  expect(page.length).toBeLessThan(50_000)
  const head = await fetch(url, { method: 'HEAD' })
  expect([head.status, head.headers.get('Content-Length')]).toEqual([200, String(Buffer.byteLength(page))])
  expect((await fetch(url, { method: 'POST' })).status).toBe(404)
})

test('a name that somebody leads to this machine reads neither the page nor the credentials', async () => {
  const { port } = new URL(url)
  const paths = ['/', '/dev/values', '/dev/description', '/dev/rows?domain=shop.example&type=A']
  for (const host of [
    'rebound.example',
    `rebound.example:${port}`,
    'localhost.rebound.example',
    '127.0.0.1.nip.example',
  ])
    for (const path of paths) {
      const answer = await askAs(host, path)
      expect([host, path, answer.statusCode]).toEqual([host, path, 421])
      expect(await text(answer)).toBe('{"message":"This page is served to 127.0.0.1 and localhost only."}')
    }
  for (const host of ['127.0.0.1', `localhost:${port}`, 'LOCALHOST', '[::1]:8080']) {
    const answer = await askAs(host, '/dev/values')
    expect([host, answer.statusCode]).toEqual([host, 200])
    expect(await text(answer)).toContain(world.credentials.clientSecret)
  }
})

test('the values have a new code each time', async () => {
  const codes = await Promise.all(
    [1, 2].map(async () => {
      const { code } = (await (await fetch(`${url}/dev/values`)).json()) as { code: string }
      return code
    }),
  )
  expect(new Set(codes).size).toBe(2)
})

test('rows come as resolvers answer, and the resolvers are asked once for them and the operation', async () => {
  const headers = {
    Authorization: `Bearer ${world.credentials.accessToken}`,
    'X-Domain': 'shop.example',
    'X-Record-Type': 'A',
  }
  const [rows, operation] = await Promise.all([
    fetch(`${url}/dev/rows?domain=shop.example&type=A`).then((answer) => answer.text()),
    fetch(`${url}/v3/tools/dnscheck`, { headers }).then((answer) => answer.json()),
  ])
  const lines = rows
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { index: number; result: DnsCheckResult })
  expect(lines.map(({ index }) => index)).toEqual([0, 2, 1])
  // The same times, too: they are of the same queries.
  expect(lines.toSorted((a, b) => a.index - b.index).map(({ result }) => result)).toEqual(operation)
})

test('a query may have a question mark of its own', async () => {
  const answer = await fetch(`${url}/dev/rows?note=why?&domain=shop.example&type=A`)
  expect((await answer.text()).trim().split('\n')).toHaveLength(3)
})

test('a question that is none has no rows', async () => {
  for (const query of ['', '?domain=a..b&type=A', '?domain=shop.example&type=ALIAS']) {
    const answer = await fetch(`${url}/dev/rows${query}`)
    expect([answer.status, await answer.text()]).toEqual([200, ''])
  }
})

test('a question at a host that is none has no rows, and does not end the process', async () => {
  const headers = { host: '127.0.0.1' }
  const asked = request(url, { path: 'http://[/dev/rows?domain=a..b&type=A', headers }).end()
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  expect([answer.statusCode, await text(answer)]).toEqual([200, ''])
})

test('a body that is too long leaves its connection as it was', async () => {
  const client = await rawClient(Number(new URL(url).port))
  const headers = { 'Content-Type': 'application/json', 'Content-Length': '3000000' }
  client.write(rawRequestText('POST /dev/summary', headers, 'a'.repeat(3_000_000)))
  expect((await client.answer()).status).toBe(400)
  client.write(rawRequestText('GET /health'))
  expect((await client.answer()).status).toBe(200)
  client.close()
})

test('a summary of what is no answer is refused in words', async () => {
  for (const [body, message] of [
    ['a'.repeat(1_000_000), /JSON/],
    ['a'.repeat(1_000_001), /too long/],
  ] as const) {
    const headers = { 'Content-Type': 'application/json' }
    const answer = await fetch(`${url}/dev/summary`, { method: 'POST', headers, body })
    expect(answer.status).toBe(400)
    expect(await answer.json()).toEqual({ message: expect.stringMatching(message) })
  }
})

test('a summary is for this page alone', async () => {
  const json = 'application/json'
  for (const [type, origin, status] of [
    [json, url, 200],
    ['text/plain;charset=UTF-8', url, 400],
    [json, 'https://elsewhere.example', 400],
    [json, 'null', 400],
  ] as const) {
    const sent = request(`${url}/dev/summary`, {
      method: 'POST',
      headers: { 'Content-Type': type, Origin: origin },
    }).end('[]')
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    expect([type, origin, answer.statusCode]).toEqual([type, origin, status])
    answer.resume()
  }
})
