import { execFile, spawn, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, globSync, mkdtempSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { fakeBlockgameServer, fakeDnsServer } from 'utility-api/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startPostgres } from '../storage/support/postgres-server.ts'
import { npmEnvironment, pack, type Tarball } from './packed.ts'
import { missing } from './start-example.ts'

// Every example as somebody has it who copied its folder, and installed there with the packed package; and in its place,
// on what `npm ci` has built. It is started with `npm start` and asked the first thing that it says to ask.

const names = globSync('examples/*/package.json').map((file) => file.split('/')[1] ?? '')
const run = promisify(execFile)
let packed: Tarball

beforeAll(() => {
  packed = pack()
}, 120_000)

afterAll(() => packed.remove(), 120_000)

/** What an example needs beside itself. */
interface Surroundings {
  readonly env?: Readonly<Record<string, string>>
  readonly args?: readonly string[]
  close?(): unknown
}

const surroundings: Readonly<Record<string, () => Promise<Surroundings>>> = {
  async 'custom-storage'() {
    const folder = mkdtempSync(join(packed.folder, 'journal-'))
    return { env: { JOURNAL: join(folder, 'journal.jsonl') } }
  },
  async 'license-check'() {
    return { env: { TMPDIR: packed.folder } }
  },
  async postgres() {
    const postgres = await startPostgres()
    return { env: { DATABASE_URL: await postgres.createDatabase() }, close: () => postgres.stop() }
  },
  async 'one-operation'() {
    const game = await fakeBlockgameServer({ status: { players: { online: 3, max: 20 } } })
    return { env: { OWN_SERVER: `${game.ip}:${game.port}` }, close: () => game.close() }
  },
  async 'verify-resolvers'() {
    const dns = await fakeDnsServer({
      records: [{ type: 'A', host: 'example.com', ttl: 60, ip: '192.0.2.1' }],
    })
    return { args: ['--', `${dns.ip}:${dns.port}`], close: () => dns.close() }
  },
}

/** Examples that do their work and end, and what they print when they have. */
const ending: Readonly<Record<string, RegExp>> = {
  demo: /All five operations succeeded\./,
  'typed-client': /"playersOnline": 12[^]*npm run check/,
  'verify-resolvers': /│ 'ok' +│[^]*dns: \{ locations \}/,
}

test('there is a README for each, and a place in the index', () => {
  const index = readFileSync('examples/README.md', 'utf8')
  expect(names.filter((name) => !index.includes(`](${name}/README.md)`))).toEqual([])
  for (const name of names) {
    expect(packed.paths).toContain(`examples/${name}/README.md`)
    expect(readFileSync(`examples/${name}/README.md`, 'utf8')).toMatch(/^# .+\n\n[^]*(?:npm|bun) start\n```/)
  }
})

const places = { 'in a copy of its folder': copyOf, 'in its place': (name: string) => join('examples', name) }
const cases = names.flatMap((name) => Object.keys(places).map((place) => [name, place] as const))

test.concurrent.for(cases)('%s %s', { timeout: 300_000 }, async ([name, place], { skip, expect: here }) => {
  const runtime = name === 'bun' || name === 'deno' ? missing(name) : null
  if (runtime !== null) {
    console.warn(`${name}: ${runtime}`)
    return skip(runtime)
  }
  const folder = await places[place as keyof typeof places](name)
  const { env = {}, args = [], close } = (await surroundings[name]?.()) ?? {}
  const example = start(folder, args, env)
  try {
    const end = ending[name]
    if (end !== undefined) {
      here({ code: await example.ended, output: example.output() }).toEqual({
        code: 0,
        output: here.stringMatching(end),
      })
      return
    }
    await here.poll(() => commandIn(example.output()), { timeout: 60_000 }).not.toBeNull()
    const line = `${commandIn(example.output())} -s -o /dev/null -w '%{http_code}'`
    const { stdout } = await run('bash', ['-c', line])
    // The page of one's own that is shown first is closed to whoever brings no token.
    here(stdout).toBe(name === 'authorization' ? '401' : '200')
  } finally {
    example.stop()
    await example.ended
    await close?.()
    if (folder.startsWith(packed.folder)) await rm(folder, { recursive: true })
  }
})

async function copyOf(name: string): Promise<string> {
  const folder = join(packed.folder, name)
  cpSync(join('examples', name), folder, {
    recursive: true,
    filter: (path) => !/node_modules|schema\.d\.ts|\.sqlite|\.test\.ts$/.test(path),
  })
  const options = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts']
  await run('npm', ['install', ...options, packed.tarball], { cwd: folder, env: npmEnvironment() })
  return folder
}

/** The first command that an example's output says to try, whole: it may go on over lines. */
function commandIn(output: string): string | null {
  return /\b(curl (?:.*\\\n)*.*[^\\\n])\n/.exec(output)?.[1] ?? null
}

interface Running {
  output(): string
  readonly ended: Promise<number | null>
  stop(): void
}

const quiet = { PORT: '0', CLIENT_PORT: '0', DATABASE: ':memory:', NO_COLOR: '1' }

function start(folder: string, args: readonly string[], env: Readonly<Record<string, string>>): Running {
  const child: ChildProcessByStdio<null, Readable, Readable> = spawn('npm', ['start', '--silent', ...args], {
    cwd: folder,
    env: { ...npmEnvironment(), ...quiet, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A signal goes to npm, its shell and the example at once, as it does from a terminal.
    detached: true,
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += String(chunk)))
  return {
    output: () => text,
    ended: once(child, 'close').then(([code]) => code as number | null),
    stop() {
      if (child.pid === undefined || child.exitCode !== null) return
      try {
        process.kill(-child.pid, 'SIGTERM')
      } catch {
        // It ended by itself meanwhile.
      }
    },
  }
}
