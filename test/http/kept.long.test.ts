/** What requests leave in memory until a full garbage collection, which is what makes the short ones long. */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const program = fileURLToPath(new URL('./support/kept-worker.ts', import.meta.url))
const sources = new URL('../support/sources.ts', import.meta.url).href

// The young generation of a machine with little memory is collected in the middle of a turn too, and V8 then keeps what any
// asynchronous function left behind.
const youngGeneration = ['--min-semi-space-size=64', '--max-semi-space-size=64']

test('a request is forgotten once it is answered', { timeout: 60_000 }, () => {
  const options = ['--expose-gc', ...youngGeneration, '--import', sources]
  const output = execFileSync('node', [...options, program], { encoding: 'utf8' })
  const kept = Object.entries(JSON.parse(output) as Record<string, number>)
  expect(kept).toHaveLength(3)
  // What a request takes is some kilobytes, and all of it stayed once; a Set in the place of one array of places adds 230.
  expect(kept.filter(([, octets]) => octets > 450)).toEqual([])
})
