import { execFile, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { outcomeOf, run, start, temporaryFolder, type Outcome } from '../support/cli.ts'
import { eventually } from '../../support/eventually.ts'

const folder = temporaryFolder()
const children: ChildProcess[] = []
afterAll(() => {
  // Also those of a test that failed.
  for (const child of children) child.kill('SIGKILL')
  folder.remove()
})

interface Running {
  readonly child: ChildProcess
  readonly outcome: Promise<Outcome>
  /** All that it has printed so far. */
  readonly printed: () => string
}

async function startDev(): Promise<Running> {
  const child = start(['dev', '--port', '0'], { TMPDIR: folder.path, HOME: folder.path })
  children.push(child)
  let text = ''
  child.stdout?.on('data', (chunk) => (text += String(chunk)))
  const outcome = outcomeOf(child)
  await eventually(() => expect(text).toContain('Ctrl-C ends it.'))
  return { child, outcome, printed: () => text }
}

function curlCommands(text: string): string[] {
  return text.match(/^curl [^]*?(?=\n\n|\n$(?![^]))/gm) ?? []
}

async function statusOf(curlCommand: string): Promise<string> {
  const line = `${curlCommand} -o /dev/null -w '%{http_code}'`
  return (await promisify(execFile)('sh', ['-c', line])).stdout
}

test('every curl command is answered 200, a spent code is followed by a new one, and nothing is left', async () => {
  const { child, outcome, printed } = await startDev()
  const commands = curlCommands(printed())
  expect(commands).toHaveLength(5)
  for (const each of commands) expect(await statusOf(each), each).toBe('200')
  // All but the first again: only a code is spent.
  for (const each of commands.slice(1)) expect(await statusOf(each), each).toBe('200')
  await eventually(() => expect(curlCommands(printed())).toHaveLength(6))
  expect(await statusOf(curlCommands(printed())[5] ?? '')).toBe('200')
  const [, url = ''] = /^Listening on (http:\S+)\n/.exec(printed()) ?? []
  expect((await fetch(`${url}/openapi.json`)).status).toBe(200)
  child.kill('SIGINT')
  const { code, stderr } = await outcome
  expect(code).toBe(0)
  expect(stderr.split('\n').filter((line) => / checkDns 200 /.test(line))).toHaveLength(2)
  expect(readdirSync(folder.path)).toEqual([])
  await expect(fetch(url)).rejects.toThrow()
})

test('SIGTERM ends it while a connection is kept open, and it listens only on loopback', async () => {
  const { child, outcome, printed } = await startDev()
  const [, url = ''] = /^Listening on (http:\S+)\n/.exec(printed()) ?? []
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  await (await fetch(`${url}/health`)).arrayBuffer()
  if (existsSync('/proc/net/tcp')) expect(listening(child.pid ?? 0)).toEqual(new Set(['0100007F']))
  child.kill('SIGTERM')
  expect(await outcome).toMatchObject({ code: 0 })
})

/** The IPv4 addresses that a process listens on, as the kernel writes them. */
function listening(pid: number): Set<string> {
  const inodes = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      const target = readlinkSync(`/proc/${pid}/fd/${fd}`)
      return /^socket:\[(\d+)\]$/.exec(target)?.slice(1) ?? []
    }),
  )
  return new Set(
    readFileSync(`/proc/${pid}/net/tcp`, 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter((fields) => fields[3] === '0A' && inodes.has(fields[9] ?? ''))
      .map((fields) => fields[1]?.split(':')[0] ?? ''),
  )
}

test('a port in use is reported in one sentence', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  expect(await run(['dev', '--port', String(port)])).toEqual({
    code: 1,
    stdout: '',
    stderr: `Port ${port} is in use. Choose another with --port.\n`,
  })
  other.close()
})
