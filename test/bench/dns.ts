// DNS clients side by side: `npx tsup && node test/bench/dns.ts`. ROUNDS, ROUND_MS and WARM_UP_MS change how long.
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { fakeDnsServer } from 'utility-api/testing'
import { findProgram, startNsd } from '../dns/support/nsd.ts'
import { subjects, type Target } from './dns-subjects.ts'
import type { RoundOrder, RoundResult } from './dns-subject.ts'
import { printTable, type TableRow } from './table.ts'

const rounds = Number(process.env['ROUNDS'] ?? 5)
const durationMs = Number(process.env['ROUND_MS'] ?? 1000)
/**
 * V8 enlarges its young generation as objects survive in it, and until then stops a program more often. A client that
 * keeps few alive needs seconds of full load for that; a server has them.
 */
const warmUpMs = Number(process.env['WARM_UP_MS'] ?? 8000)
const ips = Array.from({ length: 12 }, (_, index) => `127.0.0.${index + 11}`)
const [ours, cares, ceiling] = ['utility-api', 'node:dns (c-ares)', 'ceiling (node:dgram)']

const workloads: readonly (readonly [title: string, work: RoundOrder['work'], concurrency: number])[] = [
  ['single queries, 1 at a time', 'query', 1],
  ['single queries, 50 at once', 'query', 50],
  ['single queries, 500 at once', 'query', 500],
  ['checks of 12 servers, 1 at a time', 'check', 1],
  ['checks of 12 servers, 50 at once', 'check', 50],
]

const start = (file: string, ...args: string[]): ChildProcess =>
  fork(fileURLToPath(new URL(file, import.meta.url)), args)

/** NSD where it is installed: it leaves the clients more of the machine than a server in JavaScript. */
async function startServer(): Promise<{ target: Target; name: string; stop(): unknown }> {
  if (['nsd', 'ldns-signzone', 'ldns-keygen', 'dig'].every((each) => findProgram(each) !== undefined)) {
    const hosts = Array.from({ length: 1000 }, (_, index) => `h${index} IN A 127.0.0.1`).join('\n')
    const zone = `$ORIGIN bench.test.\n$TTL 60\n@ IN SOA ns host 1 2 3 4 5\n@ IN NS ns\nns IN A 127.0.0.1\n${hosts}\n`
    const nsd = await startNsd('bench.test', zone, ips)
    return { target: { ips, port: nsd.port }, name: 'NSD', stop: () => nsd[Symbol.asyncDispose]() }
  }
  const probe = await fakeDnsServer()
  await probe.close()
  const target = { ips, port: probe.port }
  const child = start('dns-responder.ts', JSON.stringify(target))
  await once(child, 'message')
  return { target, name: 'a responder in Node', stop: () => child.kill() }
}

async function round(child: ChildProcess, order: RoundOrder): Promise<RoundResult> {
  child.send(order)
  const [result] = (await once(child, 'message')) as [RoundResult]
  return result
}

type Results = Map<string, RoundResult[]>

/**
 * Each client in a process of its own, fresh for every workload, as memory once taken is seldom given back; some 17 MiB of
 * it are for reading TypeScript. All take turns within each round, so that what else the machine does hits them alike.
 */
async function measure(target: Target, order: Pick<RoundOrder, 'work' | 'concurrency'>): Promise<Results> {
  const children = new Map<string, ChildProcess>()
  for (const name of Object.keys(subjects)) {
    const child = start('dns-subject.ts', name, JSON.stringify(target))
    await once(child, 'message')
    children.set(name, child)
  }
  const results: Results = new Map()
  for (let index = -1; index < rounds; index += 1) {
    const turn = (index + 1) % children.size
    const inTurn = [...children]
    for (const [name, child] of [...inTurn.slice(turn), ...inTurn.slice(0, turn)]) {
      const result = await round(child, { ...order, durationMs: index < 0 ? warmUpMs : durationMs })
      if (index >= 0) results.set(name, [...(results.get(name) ?? []), result])
    }
  }
  for (const child of children.values()) child.kill()
  return results
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN
}

const rounded = (value: number, digits: number): number => Number(value.toFixed(digits))

/** The median over the rounds of one client's figure divided by another's in the same round. */
function ratio(results: Results, one: string, other: string, figure: keyof RoundResult): number {
  const [ones, others] = [results.get(one) ?? [], results.get(other) ?? []]
  return rounded(
    median(ones.map((result, index) => result[figure] / (others[index]?.[figure] ?? Number.NaN))),
    2,
  )
}

function table(results: Results): TableRow[] {
  return [...results.keys()].map((name) => {
    const of = (figure: keyof RoundResult): number =>
      median((results.get(name) ?? []).map((result) => result[figure]))
    return {
      client: name,
      'per second': Math.round(of('perSecond')),
      'to c-ares': ratio(results, name, cares, 'perSecond'),
      'to ceiling': ratio(results, name, ceiling, 'perSecond'),
      'p50 ms': rounded(of('p50Ms'), 3),
      'p99 ms': rounded(of('p99Ms'), 3),
      'p99 to ceiling': ratio(results, name, ceiling, 'p99Ms'),
      'CPU µs': rounded(of('cpuMicros'), 1),
      'CPU to c-ares': ratio(results, name, cares, 'cpuMicros'),
      'RSS MiB': Math.round(of('rssMiB')),
      failures: (results.get(name) ?? []).reduce((sum, result) => sum + result.failures, 0),
    }
  })
}

interface Goal {
  readonly workload: number
  readonly figure: keyof RoundResult
  readonly to: string
  readonly atLeast?: number
  readonly atMost?: number
}

const goals: readonly Goal[] = [
  { workload: 1, figure: 'perSecond', to: cares, atLeast: 1.4 },
  { workload: 2, figure: 'perSecond', to: cares, atLeast: 1.3 },
  { workload: 1, figure: 'perSecond', to: ceiling, atLeast: 0.75 },
  { workload: 2, figure: 'perSecond', to: ceiling, atLeast: 0.75 },
  { workload: 3, figure: 'perSecond', to: cares, atLeast: 2.9 },
  { workload: 4, figure: 'perSecond', to: cares, atLeast: 1.5 },
  ...[0, 1, 2, 3, 4].map((workload) => ({ workload, figure: 'p99Ms', to: ceiling, atMost: 1.2 }) as const),
  ...[1, 2, 3, 4].map((workload) => ({ workload, figure: 'cpuMicros', to: cares, atMost: 0.8 }) as const),
]

function verdict(all: Map<string, Results>, { workload, figure, to, atLeast, atMost }: Goal): TableRow {
  const title = workloads[workload]?.[0] ?? ''
  const measured = ratio(all.get(title) ?? new Map(), ours, to, figure)
  const met = measured >= (atLeast ?? 0) && measured <= (atMost ?? Number.POSITIVE_INFINITY)
  const goal = atLeast === undefined ? `<= ${atMost}` : `>= ${atLeast}`
  return { workload: title, figure: `${figure} to ${to}`, goal, measured, met: met ? 'yes' : 'NO' }
}

const server = await startServer()
console.log(
  `DNS clients against ${server.name}, Node ${process.version}, ${rounds} rounds of ${durationMs} ms after ${warmUpMs} ms of warming up. The two ceilings are bare sockets of node:dgram, as many as utility-api uses, with nothing checked, decoded or timed. One sends each query at once; the other sends all queries of a turn of the event loop together, as utility-api does.\n`,
)
const all = new Map<string, Results>()
for (const [title, work, concurrency] of workloads) {
  const results = await measure(server.target, { work, concurrency })
  all.set(title, results)
  printTable(title, table(results))
}
printTable(
  'utility-api against its goals',
  goals.map((goal) => verdict(all, goal)),
)
await server.stop()
