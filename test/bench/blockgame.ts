// Block-game lookups side by side: `npx tsup && node test/bench/blockgame.ts`. ROUNDS and ROUND_MS change how long.
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { benchCodec } from './blockgame-codec.ts'
import { quantile, subjects, type RoundOrder, type RoundResult } from './blockgame-subject.ts'
import { printTable, type TableRow } from './table.ts'

const rounds = Number(process.env['ROUNDS'] ?? 8)
const durationMs = Number(process.env['ROUND_MS'] ?? 500)
const concurrencies = [1, 50, 200]
/** V8 takes some ten thousand lookups to optimize. */
const warmUpRounds = 6

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))

async function start(
  file: string,
  args: readonly string[],
  execPath = process.execPath,
): Promise<ChildProcess> {
  const child = fork(path(file), args, { execPath })
  child.once('exit', (code) => {
    if (code) throw new Error(`${file} ${args.join(' ')} ended with ${code}.`)
  })
  return child
}

async function startResponder(): Promise<{ child: ChildProcess; ports: readonly number[] }> {
  const child = await start('blockgame-responder.ts', [], path('../../node_modules/.bin/bun'))
  const [ports] = (await once(child, 'message')) as [number[]]
  return { child, ports }
}

async function startSubject(name: string): Promise<{ name: string; child: ChildProcess }> {
  const child = await start('blockgame-subject.ts', [name])
  await once(child, 'message')
  return { name, child }
}

async function round(child: ChildProcess, order: RoundOrder): Promise<RoundResult> {
  child.send(order)
  const [result] = (await once(child, 'message')) as [RoundResult]
  return result
}

type Results = Map<string, RoundResult[]>

/** Fresh processes for each number of lookups at once, so that their memory is what this number takes. */
async function measure(ports: readonly number[], concurrency: number): Promise<Results> {
  const running = await Promise.all(Object.keys(subjects).map(startSubject))
  const results: Results = new Map(running.map(({ name }) => [name, []]))
  let turns = 0
  // The first rounds warm up; the order of the subjects turns, so that none is always the first.
  for (let index = -warmUpRounds; index < rounds; index += 1) {
    const turn = Math.max(0, index) % running.length
    for (const { name, child } of [...running.slice(turn), ...running.slice(0, turn)]) {
      // More than 14,000 connections a second to one port use up its free source ports: the next would pay for the former.
      const port = ports[turns % ports.length] ?? 0
      turns += 1
      const result = await round(child, { port, concurrency, durationMs })
      if (index >= 0) results.get(name)?.push(result)
    }
  }
  for (const { child } of running) child.kill()
  return results
}

function median(results: readonly RoundResult[], key: keyof RoundResult): number {
  return quantile(
    results.map((result) => result[key]),
    0.5,
  )
}

/** The median over rounds of the ratio to another subject within the same round. */
function ratio(results: Results, name: string, base: string, key: keyof RoundResult): number {
  const own = results.get(name) ?? []
  const theirs = results.get(base) ?? []
  return quantile(
    own.map((result, index) => result[key] / (theirs[index]?.[key] ?? Number.NaN)),
    0.5,
  )
}

function table(results: Results): TableRow[] {
  return Object.keys(subjects).map((name) => {
    const own = results.get(name) ?? []
    return {
      client: name,
      'lookups/s': Math.round(median(own, 'perSecond')),
      'rate/floor': round2(ratio(results, name, 'floor', 'perSecond')),
      'cpu µs': Math.round(median(own, 'cpuMicros')),
      'cpu/floor': round2(ratio(results, name, 'floor', 'cpuMicros')),
      'p50 ms': round2(median(own, 'p50Ms')),
      'p99 ms': round2(median(own, 'p99Ms')),
      'ping p50 ms': round2(median(own, 'pingMs')),
      'rss MB': Math.round(median(own, 'rssMb')),
      errors: own.reduce((sum, { errors }) => sum + errors, 0),
    }
  })
}

function round2(value: number): number {
  return Math.round(value * 100) / 100
}

console.log(
  `Node ${process.version}, ${rounds} interleaved rounds of ${durationMs} ms, 8 KB status, one connection each.\n`,
)
const responder = await startResponder()
for (const concurrency of concurrencies) {
  const results = await measure(responder.ports, concurrency)
  printTable(`${concurrency} at once`, table(results))
  for (const peer of ['minecraft-server-util', 'minecraft-protocol']) {
    const times = ratio(results, 'utility-api', peer, 'perSecond')
    console.log(`utility-api makes ${times.toFixed(2)} times the lookups of ${peer}.\n`)
  }
}
responder.child.kill()
printTable('\nCodec, microseconds', benchCodec())
