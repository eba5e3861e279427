import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { runServer } from './run-server.ts'
import { canReach } from './server-user.ts'

test('a server that cannot be started fails at once', async () => {
  await expect(runServer('/no/such/program', [], /ready/, undefined)).rejects.toMatchObject({
    message: '/no/such/program does not start.',
    cause: { code: 'ENOENT' },
  })
})

test('a server that ends before it is ready fails with what it said', async () => {
  const program = 'console.error("port taken"); process.exit(3)'
  await expect(runServer(process.execPath, ['-e', program], /ready/, undefined)).rejects.toThrow(
    /ended \(3\) before it was ready:\nport taken/,
  )
})

test('a server that is ready runs until it is ended', async () => {
  const server = await runServer(
    process.execPath,
    ['-e', 'console.log("ready"); setInterval(() => {}, 1000)'],
    /ready/,
    undefined,
  )
  await server.end('SIGTERM')
})

test('a folder below one that only its owner may enter is out of reach for others', () => {
  const folder = mkdtempSync(join(tmpdir(), 'utility-api-reach-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const inner = join(folder, 'inner')
  mkdirSync(inner)
  const stranger = { uid: 65_533, gid: 65_533 }
  const above = canReach(tmpdir(), stranger)
  chmodSync(folder, 0o755)
  expect(canReach(inner, stranger)).toBe(above)
  chmodSync(folder, 0o700)
  expect([canReach(inner, stranger), canReach(inner, undefined)]).toEqual([false, true])
})
