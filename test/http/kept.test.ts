/** What requests leave in memory until a full garbage collection, which is what makes the short ones long. */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const program = fileURLToPath(new URL('./support/kept-worker.ts', import.meta.url))
const sources = new URL('../support/sources.ts', import.meta.url).href

test('a request is forgotten once it is answered', () => {
  const output = execFileSync('node', ['--expose-gc', '--import', sources, program], { encoding: 'utf8' })
  const kept = Object.entries(JSON.parse(output) as Record<string, number>)
  expect(kept).toHaveLength(3)
  // What a request takes is some kilobytes, and all of it stayed once.
  expect(kept.filter(([, octets]) => octets > 600)).toEqual([])
})
