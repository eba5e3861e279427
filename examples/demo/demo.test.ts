import { exec, spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { eventually } from '../../test/support/eventually.ts'

const run = promisify(exec)
const sources = join(import.meta.dirname, '../../test/support/sources.ts')

/** Where the demo puts its database. */
let folder: string
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'utility-api-demo-test-'))))
afterEach(() => rmSync(folder, { recursive: true }))

function start(args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcessWithoutNullStreams {
  return spawn(process.execPath, ['--import', sources, 'demo.ts', ...args], {
    cwd: import.meta.dirname,
    env: { ...process.env, TMPDIR: folder, ...env },
  })
}

/** Runs the demo on the sources and returns its output, its errors and its exit code. */
function demo(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Outcome> {
  const child = start(args, env)
  let output = ''
  let errors = ''
  child.stdout.on('data', (chunk) => (output += String(chunk)))
  child.stderr.on('data', (chunk) => (errors += String(chunk)))
  return new Promise((resolve) => child.on('close', (code) => resolve({ output, errors, code })))
}

interface Outcome {
  readonly output: string
  readonly errors: string
  readonly code: number | null
}

test('it performs all five operations, exits, and leaves nothing behind', async () => {
  const { output, code } = await demo([])
  expect(code).toBe(0)
  expect(output.match(/^< 200 OK$/gm)).toHaveLength(5)
  expect(output).toContain('All five operations succeeded.')
  expect(readdirSync(folder)).toEqual([])
})

test('a port in use is reported in one sentence', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const errors = `Port ${port} is taken; choose another with --port.\n`
  expect(await demo(['--port', String(port)])).toEqual({ output: '', errors, code: 1 })
  expect(readdirSync(folder)).toEqual([])
  server.close()
})

test('each mistake is reported in one sentence and leaves nothing behind', async () => {
  const outcomes = await Promise.all([
    demo(['--port', '70000']),
    demo(['--prot', '3000']),
    demo(['--live']),
    // Refused before any server is asked.
    demo(['--live', '--game', '127.0.0.1', '--domain', 'no name']),
  ])
  expect(outcomes.map(({ code, errors }) => `${code} ${errors}`)).toEqual([
    '1 A port is a number from 0 to 65535: --port 3000.\n',
    "1 Unknown option '--prot'\n",
    '1 Name a Minecraft server to look up: --live --game HOST or HOST:PORT.\n',
    '1 Not as it should be: "Check DNS from several locations" was answered with 400.\n',
  ])
  expect(readdirSync(folder)).toEqual([])
})

test('a folder that is not writable is reported in one sentence', async () => {
  const nowhere = join(folder, 'nowhere')
  const errors = `Nothing can be written to ${nowhere} (ENOENT); name another folder with TMPDIR.\n`
  expect(await demo([], { TMPDIR: nowhere })).toEqual({ output: '', errors, code: 1 })
})

test('an interrupt during the operations leaves nothing behind', async () => {
  const child = start([])
  const ended = new Promise((resolve) => child.on('close', resolve))
  child.stdout.once('data', () => child.kill('SIGINT'))
  expect(await ended).toBe(0)
  expect(readdirSync(folder)).toEqual([])
})

test('a missing dependency is reported in one sentence', async () => {
  // A copy of the folder, away from node_modules.
  const copy = join(folder, 'demo')
  cpSync(import.meta.dirname, copy, { recursive: true })
  const child = spawn(process.execPath, ['demo.ts'], { cwd: copy })
  let errors = ''
  child.stderr.on('data', (chunk) => (errors += String(chunk)))
  expect(await new Promise((resolve) => child.on('close', resolve))).toBe(1)
  expect(errors).toMatch(
    /^Run npm ci first, or npm install in a copy of this folder: Cannot find package .*\n$/,
  )
})

test('the curl lines of --keep work, and an interrupt ends it', async () => {
  const child = start(['--keep'])
  let output = ''
  child.stdout.on('data', (chunk) => (output += String(chunk)))
  await eventually(() => expect(output).toContain('Press Ctrl-C'))
  const lines = output.match(/^curl .*$/gm) ?? []
  expect(lines).toHaveLength(5)
  const answers = await Promise.all(lines.map((line) => run(`${line} -o /dev/null -w '%{http_code}'`)))
  expect(answers.map(({ stdout }) => stdout)).toStrictEqual(['200', '200', '200', '200', '200'])
  const ended = new Promise((resolve) => child.on('close', resolve))
  child.kill('SIGINT')
  expect(await ended).toBe(0)
  expect(readdirSync(folder)).toEqual([])
})
