import { exec, spawn } from 'node:child_process'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test, vi } from 'vitest'

const run = promisify(exec)
const sources = join(import.meta.dirname, '../../test/support/sources.ts')

/** Runs the demo on the sources; its output, its errors and its exit code. */
function demo(...args: string[]): Promise<{ output: string; errors: string; code: number | null }> {
  const child = spawn(process.execPath, ['--import', sources, 'demo.ts', ...args], {
    cwd: import.meta.dirname,
  })
  let output = ''
  let errors = ''
  child.stdout.on('data', (chunk) => (output += String(chunk)))
  child.stderr.on('data', (chunk) => (errors += String(chunk)))
  return new Promise((resolve) => child.on('close', (code) => resolve({ output, errors, code })))
}

test('it performs all five operations and ends', async () => {
  const { output, code } = await demo()
  expect(code).toBe(0)
  expect(output.match(/^< 200 OK$/gm)).toHaveLength(5)
  expect(output).toContain('All five operations succeeded.')
})

test('a port that is taken gets a sentence', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const { errors, code } = await demo('--port', String(port))
  expect(errors).toBe(`Port ${port} is taken; choose another with --port.\n`)
  expect(code).toBe(1)
  server.close()
})

test('looking at the world outside takes the name of a server', async () => {
  const { errors, code } = await demo('--live')
  expect(errors).toBe('Name a block-game server to look up: --live --game HOST or HOST:PORT.\n')
  expect(code).toBe(1)
})

test('the curl lines of --keep work, and an interrupt ends it', async () => {
  const child = spawn(process.execPath, ['--import', sources, 'demo.ts', '--keep'], {
    cwd: import.meta.dirname,
  })
  let output = ''
  child.stdout.on('data', (chunk) => (output += String(chunk)))
  await vi.waitFor(() => expect(output).toContain('Press Ctrl-C'), 10_000)
  const lines = output.match(/^curl .*$/gm) ?? []
  expect(lines).toHaveLength(5)
  const answers = await Promise.all(lines.map((line) => run(`${line} -o /dev/null -w '%{http_code}'`)))
  expect(answers.map(({ stdout }) => stdout)).toStrictEqual(['200', '200', '200', '200', '200'])
  const ended = new Promise((resolve) => child.on('close', resolve))
  child.kill('SIGINT')
  expect(await ended).toBe(0)
})
