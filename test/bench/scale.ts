// What licenses cost as they grow in number: `npx tsup && node test/bench/scale.ts`.
// SIZES (comma-separated), ROUNDS and ROUND_MS change how many and how long; FILES names a folder that keeps the filled files;
// MMAP_SIZE maps so many octets of each into memory.
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createReadStream, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Memory, ScaleResult } from './scale-subject.ts'
import { printTable } from './table.ts'

const sizes = (process.env['SIZES'] ?? '10000,1000000,5000000').split(',').map(Number)
const rounds = Number(process.env['ROUNDS'] ?? 5)
const roundMs = Number(process.env['ROUND_MS'] ?? 1000)
/** The calls to the storage come first: what the requests write in addition would slow them down. */
const passes = [
  ['find', 'update', 'generate', 'list 50', "list a reseller's 50"],
  ['request: update', 'request: generate'],
]
const operations = passes.flat()

/** What the deployment guide sets where memory is scarce. */
const smallYoungGeneration = '--max-semi-space-size=16'

interface Store {
  readonly size: number
  readonly path: string
  readonly child: ChildProcess
  readonly rates: Map<string, number[]>
  memory: Memory
}

const subject = fileURLToPath(new URL('scale-subject.ts', import.meta.url))

async function prepare(directory: string, size: number): Promise<Store> {
  const path = join(directory, `${size}.sqlite`)
  const [code] = (await once(fork(subject, ['fill', path, `${size}`]), 'exit')) as [number]
  if (code !== 0) throw new Error(`filling ended with ${code}`)
  console.log(`${size} licenses: ${Math.round(statSync(path).size / size)} bytes each.`)
  return serve(size, path)
}

function serve(size: number, path: string, execArgv: string[] = []): Store {
  return {
    size,
    path,
    child: fork(subject, ['serve', path, `${size}`], { execArgv }),
    rates: new Map(operations.map((name) => [name, []])),
    memory: { all: 0, young: 0 },
  }
}

async function measure(store: Store, name: string, keep: boolean): Promise<void> {
  // So that the system has it in memory, as it has what a server works on. Each time: some systems take back what nobody
  // has read for a while, and the stores take turns.
  await once(createReadStream(store.path, { highWaterMark: 2 ** 20 }).resume(), 'end')
  store.child.send([name, roundMs])
  const [{ perSecond, memory }] = (await once(store.child, 'message')) as [ScaleResult]
  if (memory.all > store.memory.all) store.memory = memory
  if (keep) store.rates.get(name)?.push(perSecond)
}

function median(values: readonly number[] = []): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}

const directory = process.env['FILES'] ?? mkdtempSync(join(tmpdir(), 'utility-api-scale-'))
mkdirSync(directory, { recursive: true })
const stores: Store[] = []
for (const size of sizes) stores.push(await prepare(directory, size))

/** The first round warms the caches; within each, the sizes take turns, so that what else the machine does hits them alike. */
async function measureAll(inTurn: readonly Store[]): Promise<void> {
  for (const names of passes) {
    for (let round = 0; round <= rounds; round += 1) {
      for (const name of names) for (const store of inTurn) await measure(store, name, round > 0)
      process.stderr.write(`\rround ${round} of ${rounds}`)
    }
  }
  process.stderr.write('\n')
}

function printMemory({ size, memory, child }: Store, setting = ''): void {
  const [all, young] = [memory.all, memory.young].map((octets) => Math.round(octets / 1e6))
  console.log(
    `${size} licenses${setting}: ${all} MB of memory at most, ${young} of them V8's young generation.`,
  )
  child.disconnect()
}

await measureAll(stores)

printTable(
  `\nFull durability, each file read before each turn, 32 callers, ${rounds} rounds of ${roundMs} ms: median per second, and cost relative to the first.`,
  operations.map((name) => {
    const base = stores[0]?.rates.get(name) ?? []
    const columns = stores.map(({ size, rates }) => {
      const own = rates.get(name) ?? []
      // Round by round: what slowed one of a pair down slowed the other down too.
      const cost = median(own.map((rate, round) => (base[round] ?? Number.NaN) / rate))
      return [`${size} licenses`, `${Math.round(median(own))} (${cost.toFixed(2)})`] as const
    })
    return { operation: name, ...Object.fromEntries(columns) }
  }),
)
for (const store of stores) printMemory(store)

const largest = stores.at(-1)
if (largest !== undefined) {
  const small = serve(largest.size, largest.path, [smallYoungGeneration])
  await measureAll([small])
  printMemory(small, ` with ${smallYoungGeneration}`)
}
if (process.env['FILES'] === undefined) rmSync(directory, { recursive: true })
