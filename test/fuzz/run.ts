// npm run fuzz -- NAME --for 10m: searches for inputs that a parser reads wrong, by what it does with those before. It goes on
// from the inputs in `corpora`, and keeps there those that take ways of their own.
import { parseArgs } from 'node:util'
import { isMainThread, Worker, workerData } from 'node:worker_threads'
import { firstCostly } from '../security/support/growth.ts'
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
const [, amount = '', unit = ''] = /^(\d+)([smh])$/.exec(values.for) ?? []
const endsAfter = Number(amount) * { s: 1, m: 60, h: 3600 }[unit as 's' | 'm' | 'h']
/** What one target may keep, in octets. */
const mostKept = 6000
const longestInput = 2 ** 16
/** Between the reports, and before an input counts as one that never ends. */
const seconds = 60

if (isMainThread) {
  console.log(`${target.name}, for ${values.for}`)
  const shared = new SharedArrayBuffer(8 + longestInput)
  const [worker, [now]] = [
    new Worker(new URL(import.meta.url), { argv: process.argv.slice(2), workerData: shared }),
    view(shared),
  ]
  let before = -1
  const watch = setInterval(() => {
    if (now[0] === before) {
      report(Buffer.from(shared, 8, now[1]), new Error('It never ends.'))
      process.exit(1)
    }
    before = now[0] as number
  }, seconds * 1000)
  worker.on('exit', (code) => {
    clearInterval(watch)
    process.exitCode = code
  })
} else await search(workerData as SharedArrayBuffer)

function view(shared: SharedArrayBuffer): [Int32Array, Uint8Array] {
  return [new Int32Array(shared, 0, 2), new Uint8Array(shared, 8)]
}

function report(input: Buffer, error: unknown): void {
  console.error(
    `${input.toString('base64')}\n${JSON.stringify(input.toString('latin1'))}\n${(error as Error).stack}`,
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

  /** Returns the branches that no input before took, or not as often. */
  function ways(): number[] {
    const fresh: number[] = []
    for (let branch = 0; branch < found.branches; branch += 1) {
      const times = taken[branch] as number
      if (times === 0) continue
      taken[branch] = 0
      const often = 1 << Math.min(7, 31 - Math.clz32(times))
      if (((seen[branch] as number) & often) !== 0) continue
      seen[branch] = (seen[branch] as number) | often
      fresh.push(branch)
    }
    return fresh
  }

  async function attempt(input: Buffer): Promise<number[]> {
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
    return ways()
  }

  function progress(): void {
    const branches = seen.filter((often) => often > 0).length
    console.log(`${passed()} s: ${executions} executions, ${branches} branches, ${inputs.length} inputs`)
  }

  /** An input that takes twice as long for twice of any part of it is one that costs no more than its length. */
  async function demandLinear(input: Buffer): Promise<void> {
    const text = input.toString('latin1')
    const [start, length] = [random(text.length), 1 + random(8)]
    const pumped = {
      prefix: text.slice(0, start),
      pump: text.slice(start, start + length) || 'a',
      suffix: text.slice(start + length),
    }
    const costly = await firstCostly((each) => check(target, Buffer.from(each, 'latin1')), [pumped], 4096)
    if (costly === null) return
    report(input, new Error(costly))
    process.exit(1)
  }

  for (const input of [...target.corpus, ...kept(target)]) {
    await attempt(input)
    inputs.push(input)
  }
  while (passed() < endsAfter) {
    const recent = random(2) === 0 ? inputs.slice(-8) : inputs
    const input = mutated(random, pick(random, recent), inputs, operands)
    const isNew = (await attempt(input)).length > 0
    if (isNew || found.nearer) inputs.push(input)
    if (isNew || executions % 5000 === 0) await demandLinear(input)
    if (passed() >= reported + seconds) {
      reported = passed()
      progress()
    }
  }
  progress()
  keep(target, await smallest())

  /** Small inputs that take every way together: first those that any input takes, then those that are taken more often. */
  async function smallest(): Promise<Buffer[]> {
    const chosen = new Set<Buffer>()
    let size = 0
    for (const often of [0xff, 0]) {
      seen.fill(0)
      for (const input of inputs.toSorted((one, other) => one.length - other.length)) {
        const fresh = (await attempt(input)).length > 0
        // oxlint-disable-next-line unicorn/no-array-for-each
        seen.forEach((times, branch) => times > 0 && (seen[branch] = times | often))
        if (!fresh || chosen.has(input) || size + input.length > mostKept) continue
        chosen.add(input)
        size += input.length
      }
    }
    console.log(`Kept ${chosen.size} inputs, ${size} octets.`)
    return [...chosen]
  }
}
