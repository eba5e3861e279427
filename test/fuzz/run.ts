// npm run fuzz -- NAME --for 10m: searches for inputs that a parser reads wrong, by what it does with those before. It goes on
// from the inputs in `corpora`, and keeps there those that take ways of their own.
import { setImmediate } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { isMainThread, Worker, workerData } from 'node:worker_threads'
import { check, keep, kept, targets } from './corpora.ts'
import { found, operands, taken } from './counters.ts'
import { mutated } from './mutate.ts'
import { pick, randomFrom } from './random.ts'
import type { FuzzTarget } from './target.ts'

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { for: { type: 'string', default: '1m' } },
})
const target = targets.find(({ name }) => name.includes(positionals.join(' '))) as FuzzTarget
const [, amount, unit = ''] = /^(\d+)([smh])$/.exec(values.for) ?? []
const endsAfter = Number(amount) * ({ s: 1, m: 60, h: 3600 }[unit] ?? 0)
if (positionals.length === 0 || target === undefined || !(endsAfter > 0)) {
  console.error(`npm run fuzz -- NAME --for 10m, with a part of one of these names:`)
  for (const { name } of targets) console.error(`  ${name}`)
  process.exit(2)
}
/** What one target may keep, in octets. */
const mostKept = 7000
const longestInput = 2 ** 16
/** To these lengths, a part of an input is repeated. */
const pumpedLengths = [1024, 2048, 4096, 8192, 16_384, 32_768]
/** How much more each of them may take: between what is linear, which doubles, and what is quadratic, which is fourfold. */
const toleratedGrowth = 3
/** Between the reports, and before an input counts as one that never ends. */
const seconds = Math.min(60, endsAfter)

if (isMainThread) {
  console.log(`${target.name}, for ${values.for}`)
  const shared = new SharedArrayBuffer(8 + longestInput)
  const [now] = view(shared)
  const worker = new Worker(new URL(import.meta.url), { argv: process.argv.slice(2), workerData: shared })
  const end = (error: unknown): void => {
    report(Buffer.from(shared, 8, now[1]), error)
    process.exit(1)
  }
  // Nothing is executed while the parsers are loaded.
  let before = 0
  const watch = setInterval(() => {
    if (before > 0 && now[0] === before) end(new Error('It never ends.'))
    before = now[0] as number
  }, seconds * 1000)
  // Such as for want of memory.
  worker.on('error', end)
  worker.on('exit', (code) => {
    clearInterval(watch)
    // Nothing is left to do, and a promise never settles.
    if (code > 1) end(new Error(`It ended with code ${code}.`))
    process.exitCode = code
  })
} else await search(workerData as SharedArrayBuffer)

function view(shared: SharedArrayBuffer): [Int32Array, Uint8Array] {
  return [new Int32Array(shared, 0, 2), new Uint8Array(shared, 8)]
}

function report(input: Buffer, error: unknown): void {
  console.error(
    `${input.toString('base64')}\n${JSON.stringify(input.toString('latin1'))}\n${error instanceof Error ? error.stack : String(error)}`,
  )
}

async function search(shared: SharedArrayBuffer): Promise<void> {
  const random = randomFrom(Math.random() * 2 ** 32)
  const started = performance.now()
  const passed = (): number => Math.round((performance.now() - started) / 1000)
  const [now, octets] = view(shared)
  const seen = new Uint8Array(taken.length)
  const inputs: Buffer[] = []
  let [executions, reported] = [0, 0]

  /** Tells whether the last input took a branch as no other did before: at all, or as often. */
  function isNew(atAll = false): boolean {
    let isFound = false
    for (let branch = 0; branch < found.branches; branch += 1) {
      const times = taken[branch] as number
      const often = atAll ? 0xff : 1 << Math.min(7, 31 - Math.clz32(times))
      if (times === 0 || ((seen[branch] as number) & often) !== 0) continue
      seen[branch] = (seen[branch] as number) | often
      isFound = true
    }
    return isFound
  }

  async function attempt(input: Buffer): Promise<void> {
    Atomics.store(now, 1, input.length)
    octets.set(input.subarray(0, longestInput))
    now[0] = executions += 1
    found.nearer = false
    taken.fill(0, 0, found.branches)
    try {
      await check(target, input)
    } catch (error) {
      console.error(`Found after ${passed()} s and ${executions} executions:`)
      report(input, error)
      process.exit(1)
    }
  }

  function progress(): void {
    const branches = seen.filter((often) => often > 0).length
    console.log(`${passed()} s: ${executions} executions, ${branches} branches, ${inputs.length} inputs`)
  }

  /** Fails if twice as many of a part of an input take far more than twice the steps, and twice of those again. */
  async function demandLinear(input: Buffer): Promise<void> {
    const start = random(input.length)
    const end = start + 1 + random(pick(random, [4, 64]))
    // Half of the time, each part is another one: four of its octets are its number.
    const at = random(2 * (end - start))
    const steps: number[] = []
    let before = 0
    let more = 0
    for (const length of pumpedLengths) {
      const parts = Array.from({ length: Math.ceil(length / (end - start)) }, (_, index) => {
        const part = Buffer.from(input.subarray(start, end))
        part.write(String(index).padStart(4, '0'), Math.min(at, part.length))
        return part
      })
      await attempt(Buffer.concat([input.subarray(0, start), ...parts, input.subarray(end)]))
      steps.push(taken.subarray(0, found.branches).reduce((sum, times) => sum + times, 0))
      if (steps.length === 1) continue
      more = (steps.at(-1) as number) - (steps.at(-2) as number)
      if (more <= toleratedGrowth * before) return
      before = more
    }
    // What begins only in a long input grows like this too, by a few steps for each octet.
    if (more < 5 * (pumpedLengths.at(-1) as number)) return
    console.error(`Found after ${passed()} s and ${executions} executions:`)
    report(Buffer.from(octets.subarray(0, now[1])), `Steps: ${steps.join(', ')} for twice as much each time.`)
    process.exit(1)
  }

  for (const input of [...target.corpus, ...kept(target)]) {
    await attempt(input)
    isNew()
    inputs.push(input)
  }
  while (passed() < endsAfter) {
    const recent = random(2) === 0 ? inputs.slice(-8) : inputs
    const [one, other] = [pick(random, recent), pick(random, recent)]
    // Rather short ones, of which more are read in the same time.
    const input = mutated(random, one.length < other.length ? one : other, inputs, operands)
    await attempt(input)
    const goesOn = isNew()
    if (goesOn || found.nearer) inputs.push(input)
    if (goesOn || executions % 100 === 0) await demandLinear(input)
    if (passed() >= reported + seconds) {
      reported = passed()
      progress()
      // What a worker prints leaves it in a turn of its own.
      await setImmediate()
    }
  }
  progress()
  keep(target, await smallest())

  /** Short inputs that take all branches together, and, as far as there is room, take them as often. */
  async function smallest(): Promise<Buffer[]> {
    const chosen = new Set<Buffer>()
    let size = 0
    for (const atAll of [true, false]) {
      seen.fill(0)
      for (const input of inputs.toSorted((one, other) => one.length - other.length)) {
        await attempt(input)
        if (!isNew(atAll) || chosen.has(input) || size + input.length > mostKept) continue
        chosen.add(input)
        size += input.length
      }
    }
    console.log(`Kept ${chosen.size} inputs, ${size} octets.`)
    return [...chosen]
  }
}
