/** HTTP servers side by side, each in a process of its own, taking turns. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'

export interface ServerUnderLoad {
  readonly name: string
  readonly port: number
  /** The bytes of the next request, whole. */
  nextRequest(): string
  readonly child: ChildProcess
}

export interface LoadOptions {
  readonly connections: number
  readonly rounds: number
  readonly roundMs: number
  /** What sends the requests. Default: this process. */
  readonly load?: Load
}

/** Loads a server for a while: how long each request took, in milliseconds, and how long all of it. */
export type Load = (server: ServerUnderLoad, roundMs: number) => Promise<{ took: number[]; seconds: number }>

export interface LoadResult {
  readonly server: string
  readonly perSecond: number
  /** The first server's rate to this one's: the median of the ratios of each round. */
  readonly ratio: number
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
function call(server: ServerUnderLoad, until: number): Promise<number[]> {
  return new Promise((resolve, reject) => {
    const took: number[] = []
    const socket: Socket = connect(server.port, '127.0.0.1')
    let sent = 0
    let status = 0
    function next(): void {
      if (performance.now() >= until) {
        socket.destroy()
        return resolve(took)
      }
      status = 0
      sent = performance.now()
      socket.write(server.nextRequest())
    }
    socket.setNoDelay(true).on('error', reject).on('connect', next)
    // The caller must cost little: the first bytes hold the status, and every body is JSON and ends with a brace.
    socket.on('data', (chunk) => {
      status ||= Number(chunk.toString('latin1', 9, 12))
      if (chunk.at(-1) !== 0x7d) return
      if (status !== 200) return reject(new Error(`${server.name} answered with ${status}: ${String(chunk)}`))
      took.push(performance.now() - sent)
      next()
    })
  })
}

function loadFromHere(connections: number): Load {
  return async (server, roundMs) => {
    const begin = performance.now()
    const calls = Array.from({ length: connections }, () => call(server, begin + roundMs))
    const took = (await Promise.all(calls)).flat()
    return { took, seconds: (performance.now() - begin) / 1000 }
  }
}

/**
 * Loads every server for a while, in turns that change from round to round, so that what else the machine does hits them
 * alike. The first round warms up and does not count.
 */
export async function measureServers(
  servers: readonly ServerUnderLoad[],
  { connections, rounds, roundMs, load = loadFromHere(connections) }: LoadOptions,
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
  const first = rates.get(servers[0]?.name ?? '') ?? []
  return servers.map(({ name }) => {
    const all = latencies.get(name) ?? []
    const own = rates.get(name) ?? []
    // Round by round: what slowed one of a pair down slowed the other down too.
    const ratios = own.map((rate, round) => (first[round] ?? Number.NaN) / rate)
    return {
      server: name,
      perSecond: quantile(own, 0.5),
      ratio: quantile(ratios, 0.5),
      p50: quantile(all, 0.5),
      p99: quantile(all, 0.99),
      cpuUs: (cpu.get(name) ?? 0) / all.length,
    }
  })
}

export function quantile(values: readonly number[], q: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(q * values.length)] ?? Number.NaN
}

/** Prints the results, the first server compared with each. */
export function printResults(title: string, results: readonly LoadResult[]): void {
  console.log(title)
  console.table(
    results.map(({ server, perSecond, ratio, p50, p99, cpuUs }) => ({
      server,
      'per second': Math.round(perSecond),
      [`${results[0]?.server} is`]: `${ratio.toFixed(2)} times`,
      'p50 ms': p50.toFixed(1),
      'p99 ms': p99.toFixed(1),
      'CPU µs per request': Math.round(cpuUs),
    })),
  )
}
