import { generateKeyPairSync } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fakeBlockgameServer, fakeDnsServer } from 'utility-api/testing'
import { start, temporaryFolder, outcomeOf } from '../cli/support/cli.ts'
import { runHere } from '../cli/support/cli-here.ts'

// The page of the command: what stands below a line with `$ utility-api` is what the command prints.

const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as {
  version: string
}

export const page: string = join(import.meta.dirname, '../../docs/guide/command.md')

/** The page with the output of every command line on it, run anew from top to bottom. */
export async function renderedPage(): Promise<string> {
  const folder = temporaryFolder()
  const network = await startNetwork()
  const env = { UTILITY_API_DATABASE: join(folder.path, 'utility.sqlite') }
  const disguise = new Disguise([
    ...network.pairs,
    [env.UTILITY_API_DATABASE, 'utility.sqlite'],
    [signingKeyIn(folder.path), 'license-key.pem'],
    [version, '1.0.0'],
  ])
  try {
    const parts = readFileSync(page, 'utf8').split(/^(```text\n[^]*?^```$)/m)
    for (const [at, part] of parts.entries()) {
      if (!part.startsWith('```text\n$ ')) continue
      const lines = part.split('\n').filter((line) => line.startsWith('$ '))
      const outputs: string[] = []
      for (const line of lines) {
        const output = await outputOf(line.slice(2), disguise, env)
        outputs.push(`${line}\n${disguise.put(output)}`.trimEnd())
      }
      parts[at] = ['```text', outputs.join('\n\n'), '```'].join('\n')
    }
    return parts.join('')
  } finally {
    await network.close()
    folder.remove()
  }
}

function signingKeyIn(folder: string): string {
  const file = join(folder, 'private.pem')
  writeFileSync(file, generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }), {
    mode: 0o600,
  })
  return file
}

async function outputOf(line: string, disguise: Disguise, env: Record<string, string>): Promise<string> {
  const [command = '', head] = line.split(' | head -n ')
  const [program, ...words] = command.match(/"[^"]*"|\S+/g) ?? []
  if (program !== 'utility-api') throw new Error(`No command of ours: ${line}`)
  // Each word by itself: a real path may have spaces.
  const args = words.map((word) => disguise.lift(word.replaceAll('"', '')))
  const isServer = (args[0] === 'serve' || args[0] === 'dev') && !args.includes('--help')
  const { stdout, stderr } = isServer ? await serverOutput(args, env) : await runHere(args, env)
  const output = stdout + stderr
  return head === undefined ? output : output.split('\n').slice(0, Number(head)).join('\n')
}

/** What a server prints until it has all said. */
async function serverOutput(
  args: readonly string[],
  env: Record<string, string>,
): Promise<{ stdout: string; stderr: string }> {
  const child = start([...args, '--port', '0'], env)
  const outcome = outcomeOf(child)
  let text = ''
  for await (const chunk of child.stdout ?? []) {
    text += String(chunk)
    if (args[0] === 'serve' || text.includes('Ctrl-C ends it.')) break
  }
  child.kill('SIGTERM')
  const { stdout } = await outcome
  return { stdout: stdout === '' ? text : stdout, stderr: '' }
}

interface Network {
  /** Where the servers really are, and where the page says that they are. */
  readonly pairs: readonly (readonly [real: string, shown: string])[]
  close(): Promise<void>
}

async function startNetwork(): Promise<Network> {
  const record = { type: 'A', host: 'shop.example' } as const
  const mail = { type: 'MX', host: 'shop.example', ttl: 3600, pri: 10, target: 'mail.shop.example' } as const
  const moved = await fakeDnsServer({ records: [{ ...record, ttl: 300, ip: '203.0.113.20' }, mail] })
  const stale = await fakeDnsServer({ records: [{ ...record, ttl: 41, ip: '198.51.100.7' }, mail] })
  const game = await fakeBlockgameServer({
    status: {
      version: { name: '1.21.4', protocol: 769 },
      players: { online: 2, max: 20, sample: ['Ada', 'Grace'].map((name, at) => ({ name, id: String(at) })) },
      description: 'Build something lasting',
    },
  })
  return {
    pairs: [
      [`${moved.ip}:${moved.port}`, '192.0.2.53'],
      [`${stale.ip}:${stale.port}`, '198.51.100.53'],
      [`${game.ip}:${game.port}`, '203.0.113.25:25565'],
    ],
    close: async () => {
      await Promise.all([moved, stale, game].map((server) => server.close()))
    },
  }
}

const uuid = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g
const licenseKey = /\bLIC(?:-[0-9A-Z]{5}){5}\b/g
const statement = /^(eyJ[\w-]{20})[\w-]+\.(eyJ[\w-]{20})[\w-]+\.[\w-]{86}$/gm
const publicKey = /("(?:x|kid)": )"[\w-]{43}"/g
/** What `dev` prints after the first request. */
const furtherRequests = /^# Generate a reseller license\n[^]*?(?=\n\nEverything is in memory)/m
const secret = /\b(uapi_[a-z]{2}_)(\w{20,})\b/g

/** What is another text at each run, as the same text each time, and back. */
class Disguise {
  readonly #shownOf: Map<string, string>
  readonly #counts = new Map<string, number>()

  constructor(pairs: Network['pairs']) {
    this.#shownOf = new Map(pairs)
  }

  /** A command line of the page as it can be run. */
  lift(line: string): string {
    let lifted = line
    for (const [real, shown] of this.#shownOf)
      lifted = lifted.replaceAll(shown, real).replaceAll(shown.toLowerCase(), real.toLowerCase())
    return lifted
  }

  /** Output as the page shows it. */
  put(output: string): string {
    let shown = output
      .replaceAll(uuid, (id) =>
        this.#as(id, (count) => `01990000-0000-7000-8000-${String(count).padStart(12, '0')}`),
      )
      .replaceAll(licenseKey, (key) =>
        this.#as(key, (count) => `LIC-7K3QF-0M9XR-2CDTW-VH5BN-${String(count).padStart(5, '0')}`),
      )
      .replaceAll(
        secret,
        (_, prefix: string, rest: string) => prefix + 'EXAMPLE'.repeat(9).slice(0, rest.length),
      )
      .replaceAll(statement, '$1….$2….EXAMPLE…')
      .replace(furtherRequests, '…')
      .replaceAll(publicKey, (_, name: string) => `${name}"${'EXAMPLE'.repeat(7).slice(0, 43)}"`)
      .replaceAll(/\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?=(?:\.\d+)?Z)/g, '2026-11-22T08:30:00')
      .replaceAll(/\.\d{3}Z/g, '.000Z')
      .replaceAll(/by \d\d:\d\d:\d\d UTC/g, 'by 08:30:41 UTC')
    for (const [real, name] of this.#shownOf)
      shown = shown.replaceAll(inTable(real), name.padEnd(15)).replaceAll(real, name)
    return shown
      .replaceAll(/RESOLVER +/g, `${'RESOLVER'.padEnd(15)}  `)
      .replaceAll(
        /\b(TIME|\d+ ms) +(?=\S)/g,
        (_, found: string) => `${(found === 'TIME' ? found : '12 ms').padEnd(6)}  `,
      )
      .replaceAll(/\d+ ms$/gm, '23 ms')
      .replaceAll(/"\d+ms"/g, '"23ms"')
      .replaceAll(/(http:\/\/127\.0\.0\.1):\d+/g, '$1:3000')
      .replaceAll(/(X-Address: 127\.0\.0\.1):\d+/g, '$1:25565')
      .replaceAll(/"port": "\d{5}"/g, '"port": "25565"')
      .replaceAll('"ip": "127.0.0.1"', '"ip": "203.0.113.25"')
  }

  #as(real: string, make: (count: number) => string): string {
    const known = this.#shownOf.get(real)
    if (known !== undefined) return known
    const kind = make(0)
    const count = (this.#counts.get(kind) ?? 0) + 1
    this.#counts.set(kind, count)
    const shown = make(count)
    this.#shownOf.set(real, shown)
    return shown
  }
}

/** An address that has another column behind it. */
function inTable(address: string): RegExp {
  return new RegExp(`${address.replaceAll('.', String.raw`\.`)}(?=  )`, 'g')
}
