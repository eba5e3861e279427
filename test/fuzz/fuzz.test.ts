/** Bytes that strangers could send, to everything that reads them: what `npm run fuzz` has kept, and more like it. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { check, kept, targets } from './corpora.ts'
import { mutated } from './mutate.ts'
import { pick, randomFrom } from './random.ts'

/** FUZZ_INPUTS sets how many mutated inputs all targets get together; FUZZ_SEED repeats a run. */
const amount = Math.ceil(Number(process.env['FUZZ_INPUTS'] ?? 5000) / targets.length)
const seed = Number(process.env['FUZZ_SEED'] ?? Math.floor(Math.random() * 2 ** 32))

test.for(targets)('$name', { timeout: 60_000 + amount }, async (target, { task }) => {
  const random = randomFrom(seed)
  const inputs = [...target.corpus, ...kept(target)]
  Object.assign(task.meta, { figures: { kept: inputs.length, mutated: amount, seed } })
  expect(inputs.length).toBeGreaterThan(target.corpus.length)
  for (let count = 0; count < inputs.length + amount; count += 1) {
    const input = inputs[count] ?? mutated(random, pick(random, inputs), inputs)
    await check(target, input).catch((error: unknown) => {
      throw new Error(`Seed ${seed}, input ${count}: ${input.toString('base64')}`, { cause: error })
    })
  }
})

test('a search names the input that its parser never ends with', async () => {
  const endless = `const { trim } = String.prototype
    String.prototype.trim = function () { while (this == 'Università'); return trim.call(this) }`
  const preloads = ['./test/support/sources.ts', `data:text/javascript,${encodeURIComponent(endless)}`]
  const args = [...preloads.map((file) => `--import=${file}`), 'test/fuzz/run.ts', 'people wrote', '--for=1s']
  const named = expect.stringMatching(/^VW5pdmVyc2l0w6A=\n.*\nError: It never ends\./) as unknown
  const search = promisify(execFile)(process.execPath, args)
  await expect(search).rejects.toMatchObject({ code: 1, stderr: named })
})
