// What one caller's hanging checks and lookups cost another caller: `npm run bench -- fairness`.
// ROUNDS and ROUND_MS change how long, CHECKS and LOOKUPS how many requests the one caller tries to keep open.
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Remote } from './fairness-remote.ts'
import type { Subject } from './fairness-subject.ts'
import { quantile } from './http-load.ts'
import { printTable } from './table.ts'

const rounds = Number(process.env['ROUNDS'] ?? 3)
const roundMs = Number(process.env['ROUND_MS'] ?? 6000)
const hangingChecks = Number(process.env['CHECKS'] ?? 900)
const hangingLookups = Number(process.env['LOOKUPS'] ?? 50)

/** The default of `dns.timeoutMs` and `blockgame.timeoutMs`. */
const deadlineMs = 5000

const kinds = ['check', 'lookup'] as const
type Kind = (typeof kinds)[number]

async function start<Message>(
  file: string,
  argument: unknown,
): Promise<{ child: ChildProcess; message: Message }> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), [JSON.stringify(argument)])
  const [message] = (await once(child, 'message')) as [Message]
  return { child, message }
}

const { child: remoteProcess, message: remote } = await start<Remote>('fairness-remote.ts', null)
const { child: subjectProcess, message: subject } = await start<Subject>('fairness-subject.ts', remote)
const [one, other] = subject.callers
if (one === undefined || other === undefined) throw new Error('Two callers are needed.')

/** Resolves to the status; rejects when the connection is destroyed. */
function send(agent: Agent, path: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request({ port: subject.port, host: '127.0.0.1', path, headers, agent }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0))
      response.once('error', reject)
    })
    sent.once('error', reject).end()
  })
}

type Caller = Subject['callers'][number]

const check = (agent: Agent, { accessToken }: Caller, domain: string): Promise<number> =>
  send(agent, '/v3/tools/dnscheck', {
    Authorization: `Bearer ${accessToken}`,
    'X-Domain': domain,
    'X-Record-Type': 'A',
  })

const lookUp = (agent: Agent, { apiKey }: Caller, address: string, port: number): Promise<number> =>
  send(agent, '/v4/games/blockgame/lookup', { Basic: apiKey, 'X-Address': address, 'X-Port': String(port) })

let names = 0
const nextName = (): number => (names += 1)

/** Keeps the one caller's requests open until it is told to stop; resolves to how many were answered 503. */
function disturb(caller: Caller): () => Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })
  const stopping = new AbortController()
  let refused = 0
  async function keepOpen(ask: () => Promise<number>, share: number): Promise<void> {
    // All at once would measure how long so many requests take, again at each deadline.
    await wait(deadlineMs * share)
    while (!stopping.signal.aborted) {
      const status = await ask().catch(() => 0)
      if (status !== 503) continue
      refused += 1
      await wait(250)
    }
  }
  const address = (index: number): string => `127.0.1.${index + 1}`
  const all = [
    ...Array.from({ length: hangingChecks }, (_, index) =>
      keepOpen(() => check(agent, caller, `h${nextName()}.hanging.test`), index / hangingChecks),
    ),
    ...Array.from({ length: hangingLookups }, (_, index) =>
      keepOpen(() => lookUp(agent, caller, address(index), remote.silentPort), index / hangingLookups),
    ),
  ]
  return async () => {
    stopping.abort()
    agent.destroy()
    await Promise.all(all)
    return refused
  }
}

interface Measured {
  readonly took: number[]
  /** Answers that were none, by their status. */
  readonly refused: number[]
}

/** The other caller's requests of one kind, one after the other for a while. */
async function measure(kind: Kind, caller: Caller): Promise<Measured> {
  const agent = new Agent({ keepAlive: true })
  const measured: Measured = { took: [], refused: [] }
  const end = performance.now() + roundMs
  while (performance.now() < end) {
    const begin = performance.now()
    const status =
      kind === 'check'
        ? await check(agent, caller, `n${nextName()}.test`)
        : await lookUp(agent, caller, '127.0.0.1', remote.gamePort)
    if (status === 200) measured.took.push(performance.now() - begin)
    else measured.refused.push(status)
    // Somebody who looks now and then, not a second load.
    await wait(10)
  }
  agent.destroy()
  return measured
}

const results = kinds.map((kind) => ({ kind, alone: [] as Measured[], disturbed: [] as Measured[] }))
const refusals: number[] = []

async function measureAll(how: 'alone' | 'disturbed', caller: Caller): Promise<void> {
  await Promise.all(results.map(async (result) => void result[how].push(await measure(result.kind, caller))))
}

await measureAll('alone', other)
for (const result of results) result.alone = []
for (let round = 1; round <= rounds; round += 1) {
  await measureAll('alone', other)
  const stop = disturb(one)
  await wait(deadlineMs)
  await measureAll('disturbed', other)
  refusals.push(await stop())
  await wait(1000)
  process.stderr.write(`\rround ${round} of ${rounds}`)
}
process.stderr.write('\n')

const tookAt = (measured: readonly Measured[], q: number): number =>
  quantile(
    measured.flatMap(({ took }) => took),
    q,
  )
printTable(
  `One caller keeps ${hangingChecks} checks and ${hangingLookups} lookups open, all of which hang; another caller sends a request now and then.`,
  results.map(({ kind, alone, disturbed }) => ({
    'the other’s': kind,
    answered: `${alone.flatMap(({ took }) => took).length} and ${disturbed.flatMap(({ took }) => took).length}`,
    'p50 ms alone': tookAt(alone, 0.5).toFixed(1),
    disturbed: tookAt(disturbed, 0.5).toFixed(1),
    'p50 ratio': (tookAt(disturbed, 0.5) / tookAt(alone, 0.5)).toFixed(2),
    'p99 ms alone': tookAt(alone, 0.99).toFixed(1),
    'p99 disturbed': tookAt(disturbed, 0.99).toFixed(1),
    'not answered': disturbed.flatMap(({ refused }) => refused).length,
    '503': disturbed.flatMap(({ refused }) => refused).filter((status) => status === 503).length,
  })),
)
console.log(`The caller whose requests hang got a 503 ${quantile(refusals, 0.5)} times a round.`)
subjectProcess.disconnect()
remoteProcess.disconnect()
