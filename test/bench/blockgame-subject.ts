// One library in a process of its own: runs a round whenever it is told to, and reports what it took.
import { createRequire } from 'node:module'
import { floorLookup } from './blockgame-floor.ts'

export interface RoundOrder {
  readonly port: number
  readonly concurrency: number
  readonly durationMs: number
}

export interface RoundResult {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly cpuMicros: number
  readonly rssMb: number
  readonly pingMs: number
  readonly errors: number
}

/** A lookup by one library: resolves to the latency it reports. */
type Lookup = (port: number) => Promise<number>

const host = '127.0.0.1'
const peers = createRequire(new URL('../peers/package.json', import.meta.url))

export const subjects: Readonly<Record<string, () => Promise<Lookup>>> = {
  floor: async () => async (port) => (await floorLookup(host, port)).latencyMs,
  'utility-api': async () => {
    const { createBlockgameClient } = await import('utility-api/blockgame')
    const client = createBlockgameClient({ allowAddress: () => true })
    return async (port) => (await client.status({ host, port })).latencyMs
  },
  'minecraft-server-util': async () => {
    const { status } = peers('minecraft-server-util') as {
      status(host: string, port: number, options: object): Promise<{ roundTripLatency: number }>
    }
    return async (port) => (await status(host, port, { enableSRV: false })).roundTripLatency
  },
  'minecraft-protocol': async () => {
    const { ping } = peers('minecraft-protocol') as { ping(options: object): Promise<{ latency: number }> }
    return async (port) => (await ping({ host, port, closeTimeout: 5000 })).latency
  },
}

async function runRound(lookup: Lookup, { port, concurrency, durationMs }: RoundOrder): Promise<RoundResult> {
  const latencies: number[] = []
  const pings: number[] = []
  let errors = 0
  const cpuBefore = process.cpuUsage()
  const startedAt = performance.now()
  const worker = async (): Promise<void> => {
    for (let begun = performance.now(); begun - startedAt < durationMs; begun = performance.now()) {
      try {
        pings.push(await lookup(port))
        latencies.push(performance.now() - begun)
      } catch {
        errors += 1
      }
    }
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
  const elapsedMs = performance.now() - startedAt
  const cpu = process.cpuUsage(cpuBefore)
  return {
    perSecond: (latencies.length / elapsedMs) * 1000,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    cpuMicros: (cpu.user + cpu.system) / latencies.length,
    rssMb: process.memoryUsage.rss() / 2 ** 20,
    pingMs: quantile(pings, 0.5),
    errors,
  }
}

export function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(share * (values.length - 1))] ?? Number.NaN
}

const name = process.argv[2]
if (process.send && name !== undefined && name in subjects) {
  const lookup = await subjects[name]!()
  process.on('message', (order: RoundOrder) => {
    void runRound(lookup, order).then((result) => process.send?.(result))
  })
  process.send('ready')
}
