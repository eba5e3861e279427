/** No text that a stranger sends costs more than its length. */
import { expect, test } from 'vitest'
import { findExpressions, partsOf, wordsOf } from './support/expressions.ts'
import { firstCostly } from './support/growth.ts'
import { commonParts, commonStarts, pumpedTexts, randomTexts } from './support/pumped-texts.ts'
import { entries, exported } from './support/text-entries.ts'

/** Random texts for each entry and expression, besides those of each part. */
const amount = Number(process.env['LINEAR_TEXTS'] ?? 10)
const longest = Number(process.env['LINEAR_LENGTH'] ?? 4096)
const seed = Number(process.env['LINEAR_SEED'] ?? Date.now() & 0x7fff_ffff)
/** A short run repeats parts behind no start but the words of an expression, and takes others from random texts. */
const isAtLength = process.env['LINEAR_TEXTS'] !== undefined
const starts = isAtLength ? commonStarts : []
const { literal, builtIn } = findExpressions()
const unlimited = { timeout: 0 }

test('each exported function is among the entries', () => {
  const functions = Object.keys(exported).filter((name) => typeof exported[name] === 'function')
  expect(functions.length).toBeGreaterThan(20)
  expect(functions.filter((name) => entries[name] === undefined)).toEqual([])
})

test.each(Object.entries(entries))('%s', unlimited, async (_, work) => {
  expect(await firstCostly(work, pumpedTexts(commonParts, starts))).toBeNull()
  expect(await firstCostly(work, randomTexts(commonParts, amount, longest, seed)), `seed ${seed}`).toBeNull()
})

test('each regular expression that is written out', unlimited, async () => {
  expect(literal.size).toBeGreaterThan(100)
  const costly: string[] = []
  for (const [name, expression] of literal) {
    // As it is used at worst: for all that it finds.
    const all = new RegExp(expression.source, [...new Set(`${expression.flags}g`)].join(''))
    const work = (text: string): unknown => text.replaceAll(all, '')
    const parts = [...new Set([...partsOf(expression), ...'a0 :"\\é'])]
    const before = [...(isAtLength ? parts : []), ...wordsOf(expression)]
    const found =
      (await firstCostly(work, pumpedTexts(parts, before))) ??
      (await firstCostly(work, randomTexts(parts, amount, longest, seed)))
    if (found !== null) costly.push(`${name} ${found}`)
  }
  expect(costly).toEqual([])
})

test('what is put together is part of an entry', () => {
  expect(builtIn).toEqual([
    'adapters/cli/database/redact.ts',
    'adapters/cli/terminal/terminal-text.ts',
    'src/blockgame/codec/clean-text.ts',
    'src/domain/credentials.ts',
    'src/domain/host-name.ts',
    'src/domain/secret.ts',
  ])
})
