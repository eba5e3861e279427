import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const program = fileURLToPath(new URL('./support/kept-worker.ts', import.meta.url))
const sources = new URL('../support/sources.ts', import.meta.url).href

test('a lookup is forgotten once it is answered, or a short garbage collection copies every status', () => {
  const youngGeneration = ['--min-semi-space-size=64', '--max-semi-space-size=64']
  const options = ['--expose-gc', ...youngGeneration, '--import', sources]
  const kept = Number(execFileSync('node', [...options, program], { encoding: 'utf8' }))
  // Of both ends of its connection, 3,600 remain. It was 10,200 while a lookup could be reached.
  expect(kept).toBeLessThan(6000)
})
