/** HTTP servers side by side, each in a process of its own, taking turns. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { printTable } from './table.ts'
import { hasWrk, requestsLoad } from './wrk.ts'

export interface ServerUnderLoad {
  readonly name: string
  readonly port: number
  /** The bytes of whole requests, sent in turn, the first again after the last. */
  readonly requests: readonly string[]
  readonly child: ChildProcess
}

export interface LoadOptions {
  readonly connections: number
  readonly rounds: number
  readonly roundMs: number
  /** What sends the requests. Default: wrk where it is installed, else this process. */
  readonly load?: Load
}

/** Loads a server for a while: how long each request took, in milliseconds, and how long all of it. */
export type Load = (server: ServerUnderLoad, roundMs: number) => Promise<{ took: number[]; seconds: number }>

export interface LoadResult {
  readonly server: string
  readonly perSecond: number
  /** The rate of each round. */
  readonly rates: readonly number[]
  readonly p50: number
  readonly p99: number
  /** Microseconds of processor time per request, the server's process alone. */
  readonly cpuUs: number
}

/** Starts a subject file in a process of its own; it reports its port as its first message. */
export async function forkServer(file: URL, args: string[]): Promise<{ child: ChildProcess; port: number }> {
  const child = fork(fileURLToPath(file), args)
  const [port] = (await once(child, 'message')) as [number]
  return { child, port }
}

/** Runs a subject file to its end in a process of its own: what fills a database leaves the process that serves it as it was. */
export async function runToEnd(file: URL, args: string[]): Promise<void> {
  const [code] = (await once(fork(fileURLToPath(file), args), 'exit')) as [number | null]
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}.`)
}

/** For a subject file: reports the port, then its processor time whenever it is asked, and ends with its parent. */
export function reportToParent(port: number): void {
  process.on('message', () => process.send?.(process.cpuUsage()))
  process.on('disconnect', () => process.exit())
  process.send?.(port)
}

async function cpuMicroseconds(child: ChildProcess): Promise<number> {
  const answered = once(child, 'message')
  child.send('cpu')
  const [{ user, system }] = (await answered) as [NodeJS.CpuUsage]
  return user + system
}

/** One request after the other on one connection until `until`; how long each took, in milliseconds. */
function call(server: ServerUnderLoad, next: () => string, until: number): Promise<number[]> {
  return new Promise((resolve, reject) => {
    const took: number[] = []
    const socket: Socket = connect(server.port, '127.0.0.1')
    let sent = 0
    let status = 0
    function send(): void {
      if (performance.now() >= until) {
        socket.destroy()
        return resolve(took)
      }
      status = 0
      sent = performance.now()
      socket.write(next())
    }
    socket.setNoDelay(true).on('error', reject).on('connect', send)
    // The caller must cost little: the first bytes hold the status, and every body is JSON and ends with a brace.
    socket.on('data', (chunk) => {
      status ||= Number(chunk.toString('latin1', 9, 12))
      if (chunk.at(-1) !== 0x7d) return
      if (status !== 200) return reject(new Error(`${server.name} answered with ${status}: ${String(chunk)}`))
      took.push(performance.now() - sent)
      send()
    })
  })
}

function loadFromHere(connections: number): Load {
  const used = new Map<string, number>()
  return async (server, roundMs) => {
    const begin = performance.now()
    const next = (): string => {
      const count = used.get(server.name) ?? 0
      used.set(server.name, count + 1)
      return server.requests[count % server.requests.length] ?? ''
    }
    const calls = Array.from({ length: connections }, () => call(server, next, begin + roundMs))
    const took = (await Promise.all(calls)).flat()
    return { took, seconds: (performance.now() - begin) / 1000 }
  }
}

/** By wrk, whose own work takes little from the server: the callers of this process take half of two cores and hide ratios. */
const loadBy = (connections: number): Load => (hasWrk ? requestsLoad(connections) : loadFromHere(connections))

/** Who sends the requests, for a title. */
export const loader: string = hasWrk ? 'wrk' : 'Node'

/**
 * Loads every server for a while, in turns that change from round to round, so that what else the machine does hits them
 * alike. The first round warms up and does not count.
 */
export async function measureServers(
  servers: readonly ServerUnderLoad[],
  { connections, rounds, roundMs, load = loadBy(connections) }: LoadOptions,
): Promise<LoadResult[]> {
  const rates = new Map<string, number[]>(servers.map(({ name }) => [name, []]))
  const latencies = new Map<string, number[]>(servers.map(({ name }) => [name, []]))
  const cpu = new Map<string, number>()
  for (let round = 0; round <= rounds; round += 1) {
    for (let turn = 0; turn < servers.length; turn += 1) {
      const server = servers[(round + turn) % servers.length]
      if (server === undefined) continue
      const cpuBefore = await cpuMicroseconds(server.child)
      const { took, seconds } = await load(server, roundMs)
      if (round === 0) continue
      rates.get(server.name)?.push(took.length / seconds)
      for (const each of took) latencies.get(server.name)?.push(each)
      cpu.set(server.name, (cpu.get(server.name) ?? 0) + (await cpuMicroseconds(server.child)) - cpuBefore)
    }
    process.stderr.write(`\rround ${round} of ${rounds}`)
  }
  process.stderr.write('\n')
  return servers.map(({ name }) => {
    const all = latencies.get(name) ?? []
    const own = rates.get(name) ?? []
    return {
      server: name,
      perSecond: quantile(own, 0.5),
      rates: own,
      p50: quantile(all, 0.5),
      p99: quantile(all, 0.99),
      cpuUs: (cpu.get(name) ?? 0) / all.length,
    }
  })
}

/** How many times the rate of another one has: the median of the ratios of each round, for what slowed one down slowed the other down too. */
export function ratioOf(results: readonly LoadResult[], one: string, other: string): number {
  const ratesOf = (name: string): readonly number[] =>
    results.find(({ server }) => server === name)?.rates ?? []
  return quantile(
    ratesOf(one).map((rate, round) => rate / (ratesOf(other)[round] ?? Number.NaN)),
    0.5,
  )
}

export function quantile(values: readonly number[], q: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(q * values.length)] ?? Number.NaN
}

/** Prints the results, the first server compared with each. */
export function printResults(title: string, results: readonly LoadResult[]): void {
  const first = results[0]?.server ?? ''
  printTable(
    title,
    results.map(({ server, perSecond, p50, p99, cpuUs }) => ({
      server,
      'per second': Math.round(perSecond),
      [`${first} is`]: `${ratioOf(results, first, server).toFixed(2)} times`,
      'p50 ms': p50.toFixed(1),
      'p99 ms': p99.toFixed(1),
      'CPU µs per request': Math.round(cpuUs),
    })),
  )
}
