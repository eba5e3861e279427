import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonSize } from '../../src/operations/json-size.ts'

const letters = fc.string({ unit: fc.constantFrom('a', 'b', '.', '-') })
const values = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'medium' },
    letters,
    fc.integer({ min: 1_000_000, max: 99_999_999 }),
    fc.array(tie('value')),
    fc.dictionary(letters, tie('value')),
  ),
})).value

test('the size is that of the JSON, but for one comma in each list and what is counted as eight', () => {
  fc.assert(
    fc.property(values, (value) => {
      const json = JSON.stringify(value)
      const containers = json.match(/[[{]/g)?.length ?? 0
      const numbers = json.match(/\b\d{7}\b/g)?.length ?? 0
      expect(Math.abs(jsonSize(value) - json.length)).toBeLessThanOrEqual(containers + numbers)
    }),
  )
})

test('counting ends soon after it is enough', () => {
  let read = 0
  const item = {
    get text() {
      read += 1
      return 'a'.repeat(90)
    },
  }
  const value = { list: Array.from({ length: 10_000 }, () => item) }
  expect(jsonSize(value, 1000)).toBeGreaterThan(1000)
  expect(read).toBeLessThan(20)
})
