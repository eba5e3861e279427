import { expect, test } from 'vitest'
import argued from './mutants/argued.json' with { type: 'json' }
import { allMutants } from './mutants/make.ts'

test('what is argued of a mutant is argued of the code that is there', () => {
  const keys = new Set(allMutants().map(({ key }) => key))
  expect(Object.keys(argued).filter((key) => !keys.has(key))).toEqual([])
})
