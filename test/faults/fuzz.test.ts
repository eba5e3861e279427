/** Bytes that strangers could send, to everything that reads them. */
import { expect, test } from 'vitest'
import { dnsTargets } from './fuzz/dns.ts'
import { gameTargets } from './fuzz/games.ts'
import { mutated } from './fuzz/mutate.ts'
import { nameTargets } from './fuzz/names.ts'
import { randomFrom } from './fuzz/random.ts'
import { requestTargets } from './fuzz/requests.ts'
import type { FuzzTarget } from './fuzz/target.ts'

const targets = [...requestTargets, ...nameTargets, ...dnsTargets, ...gameTargets]
/** FUZZ_INPUTS sets how many inputs all targets get together; FUZZ_SEED repeats a run. */
const inputs = Math.ceil(Number(process.env['FUZZ_INPUTS'] ?? 38_000) / targets.length)
const seed = Number(process.env['FUZZ_SEED'] ?? Math.floor(Math.random() * 2 ** 32))

/** The first input for which something does not hold; null when there is none. */
async function firstFailure({ corpus, check }: FuzzTarget): Promise<object | null> {
  const random = randomFrom(seed)
  for (let count = 0; count < inputs; count += 1) {
    const input = mutated(random, corpus)
    // `check` may change it.
    const kept = Buffer.from(input)
    try {
      await check(input, random)
    } catch (error) {
      return { seed, count, base64: kept.toString('base64'), error: String((error as Error).stack) }
    }
  }
  return null
}

test.for(targets)('$name', { timeout: 60_000 + inputs }, async (target, { task }) => {
  Object.assign(task.meta, { figures: { inputs, seed } })
  expect(await firstFailure(target)).toBeNull()
})
