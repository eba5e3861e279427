import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
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

test('a server has ended although a program that it started lives on with its output', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'utility-api-orphan-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const pid = join(folder, 'pid')
  const script = 'sleep 100 & echo $! > "$0"; echo ready; exec sleep 100'
  const server = await runServer('sh', ['-c', script, pid], /ready/, undefined)
  onTestFinished(() => void process.kill(Number(readFileSync(pid, 'utf8'))))
  await server.end('SIGKILL')
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
