// Runs one client in a process of its own, so that its CPU time and memory can be told from the others'.
import { subjects, type Target } from './dns-subjects.ts'

/** What to do in one round. */
export interface RoundOrder {
  /** Single queries, or checks of all servers at once. */
  readonly work: 'query' | 'check'
  readonly concurrency: number
  readonly durationMs: number
}

export interface RoundResult {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** CPU time of this process, user and system. */
  readonly cpuMicros: number
  readonly rssMiB: number
  readonly failures: number
}

const [name = '', target = ''] = process.argv.slice(2)
const { ips, port } = JSON.parse(target) as Target
const ask = subjects[name]?.({ ips, port })
const names = 1000
// Outside the heap of JavaScript, so that the measuring does not count as memory of the client.
const times = new Float64Array(500_000)
let turn = 0

async function once(work: RoundOrder['work']): Promise<boolean> {
  turn += 1
  const host = `h${turn % names}.bench.test`
  if (work === 'query') return (await ask?.(host, 0)) === '127.0.0.1'
  const answers = await Promise.all(ips.map((_, server) => ask?.(host, server)))
  return answers.every((answer) => answer === '127.0.0.1')
}

async function run({ work, concurrency, durationMs }: RoundOrder): Promise<RoundResult> {
  let count = 0
  let failures = 0
  const cpu = process.cpuUsage()
  const started = performance.now()
  const end = started + durationMs
  async function loop(): Promise<void> {
    for (let now = performance.now(); now < end;) {
      const right = await once(work).catch(() => false)
      if (!right) failures += 1
      const then = performance.now()
      times[count] = then - now
      count += 1
      now = then
    }
  }
  await Promise.all(Array.from({ length: concurrency }, loop))
  const elapsed = performance.now() - started
  const { user, system } = process.cpuUsage(cpu)
  const sorted = times.subarray(0, count).toSorted()
  return {
    perSecond: (count / elapsed) * 1000,
    p50Ms: sorted[Math.floor(count * 0.5)] ?? 0,
    p99Ms: sorted[Math.floor(count * 0.99)] ?? 0,
    cpuMicros: (user + system) / count,
    rssMiB: process.memoryUsage.rss() / 1024 / 1024,
    failures,
  }
}

process.on('message', (order: RoundOrder) => {
  void run(order).then((result) => process.send?.(result))
})
process.send?.('ready')
