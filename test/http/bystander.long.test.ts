/** How long a bystander waits beside senders of the largest answers, and beside as many honest ones, on each mount. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { startMeasured } from './support/measured-process.ts'

const connections = Number(process.env['BYSTANDER_CONNECTIONS'] ?? 100)
const rounds = Number(process.env['BYSTANDER_ROUNDS'] ?? 3)
const mounts = (process.env['BYSTANDER_MOUNTS'] ?? 'Node,Express,Hono,Bun,serve').split(',')

const sendersProgram = fileURLToPath(new URL('./support/senders.ts', import.meta.url))
const sources = new URL('../support/sources.ts', import.meta.url).href

interface Facts {
  readonly port: number
  readonly attacker: string
  readonly bystander: string
  readonly honest: readonly string[]
  readonly apiKey: string
  /** Bodies of exchanges, each for a code of its own. */
  readonly exchanges: object[]
}

/** Starts what sends beside them, and returns once it says that it does. */
async function startSenders(args: readonly string[]): Promise<{ stop(): void }> {
  const child = spawn(process.execPath, ['--import', sources, sendersProgram, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const stop = (): void => void child.kill('SIGKILL')
  onTestFinished(stop)
  await once(child.stdout, 'data')
  return { stop }
}

/**
 * Sends one of each, on connections of their own, and returns how long each took. Beside more honest callers than a
 * server has places for, some are refused, and take no time.
 */
async function ask(facts: Facts, kind: string): Promise<Record<string, number>> {
  const { bystander, apiKey, exchanges } = facts
  const requests: Readonly<Record<string, readonly [path: string, init: RequestInit]>> = {
    check: [
      '/v3/tools/dnscheck',
      {
        headers: {
          Authorization: `Bearer ${bystander}`,
          'X-Domain': `b${exchanges.length}.example`,
          'X-Record-Type': 'TXT',
        },
      },
    ],
    lookup: [
      '/v4/games/blockgame/lookup',
      { headers: { Basic: apiKey, 'X-Address': `b${exchanges.length}.example` } },
    ],
    exchange: [
      '/v4/oauth2/token',
      {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(exchanges.pop()),
      },
    ],
  }
  const took: Record<string, number> = {}
  for (const [name, [path, init]] of Object.entries(requests)) {
    const begin = performance.now()
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    const response = await fetch(`http://127.0.0.1:${facts.port}${path}`, {
      ...init,
      headers: { ...init.headers, Connection: 'close' },
    })
    // oxlint-disable-next-line no-await-in-loop
    await response.arrayBuffer()
    if (kind === 'honest' && response.status === 503) continue
    took[name] = performance.now() - begin
    expect(response.status, `${name} beside ${kind}`).toBe(200)
  }
  return took
}

/** Returns the medians, in milliseconds, while so many connections send. */
async function beside(
  facts: Facts,
  kind: string,
  reads: boolean,
): Promise<Record<string, number | undefined>> {
  const tokens = kind === 'honest' ? facts.honest.join(',') : facts.attacker
  const args = [String(facts.port), String(connections), kind, String(reads), tokens]
  const senders = await startSenders(args)
  await wait(500)
  const all: Record<string, number>[] = []
  // oxlint-disable-next-line no-await-in-loop -- one after the other
  for (let round = 0; round < rounds; round += 1) all.push(await ask(facts, kind))
  senders.stop()
  await wait(500)
  function medianOf(name: string): number | undefined {
    const answered = all.flatMap(({ [name]: ms = [] }) => ms).toSorted((one, other) => one - other)
    const median = answered[Math.floor(answered.length / 2)]
    return median === undefined ? undefined : Math.round(median)
  }
  return { check: medianOf('check'), lookup: medianOf('lookup'), exchange: medianOf('exchange') }
}

const kinds = [
  'equal names',
  'names of their own',
  'sixteen requests',
  'two hundred requests',
  'two hundred requests without credentials',
]

test.for(mounts)(
  `a bystander is answered beside ${connections} connections: %s`,
  { timeout: 60_000 + 20_000 * rounds * kinds.length },
  async (mount, { task }) => {
    const facts = await startMeasured<Facts>('answers-server', mount)
    await ask(facts, 'nobody')
    const figures: Record<string, object> = { honest: await beside(facts, 'honest', true) }
    for (const kind of kinds) {
      for (const reads of [true, false]) {
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        figures[`${kind}, ${reads ? 'read' : 'unread'}`] = await beside(facts, kind, reads)
      }
    }
    Object.assign(task.meta, { figures })
  },
)
