import fc from 'fast-check'
import { crc32 } from 'node:zlib'
import { expect, test } from 'vitest'
import { isMistyped, timeOfSecret, timeSymbols, toTime48, withChecksum } from '../../src/domain/secret.ts'

const numRuns = Number(process.env['PROPERTY_RUNS'] ?? 1000)
const maxTime = 2 ** 48 - 1

const symbols = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const base62 = (length: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...symbols), minLength: length, maxLength: length })
const orderedPrefix = fc.constantFrom('uapi_at_', 'uapi_ac_')
const time = fc.integer({ min: 0, max: maxTime })
const ordered = fc
  .tuple(orderedPrefix, time, base62(27))
  .map(([prefix, at, random]) => ({ at, text: withChecksum(prefix + timeSymbols(at) + random) }))

test('a time-ordered secret contains its time, whatever the time', () => {
  fc.assert(
    fc.property(ordered, ({ at, text }) => {
      expect(timeOfSecret(text)).toBe(at)
      expect(text).toHaveLength(50)
      expect(isMistyped(text)).toBe(false)
    }),
    { numRuns, examples: [0, maxTime].map((at) => [{ at, text: secretAt(at) }]) },
  )
})

function secretAt(at: number): string {
  return withChecksum(`uapi_at_${timeSymbols(at)}${'a'.repeat(27)}`)
}

test('secrets sort in the order of their times', () => {
  fc.assert(
    fc.property(time, time, (first, second) => {
      expect(timeSymbols(first) < timeSymbols(second)).toBe(first < second)
    }),
    { numRuns },
  )
})

test('with one wrong symbol, a time-ordered secret is mistyped and has no time', () => {
  fc.assert(
    fc.property(ordered, fc.nat(41), fc.constantFrom(...symbols), ({ text }, position, symbol) => {
      const at = 8 + position
      fc.pre(text[at] !== symbol)
      const wrong = text.slice(0, at) + symbol + text.slice(at + 1)
      expect(timeOfSecret(wrong)).toBeNull()
      expect(isMistyped(wrong)).toBe(true)
    }),
    { numRuns },
  )
})

test('no other text has a time', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), base62(42), base62(50)), (text) => {
      expect(timeOfSecret(text)).toBeNull()
      expect(isMistyped(text)).toBe(false)
    }),
    { numRuns },
  )
  const [prefix, body] = ['uapi_at_', `${timeSymbols(7)}${'x'.repeat(27)}`]
  const others = [
    withChecksum(`uapi_cs_${body}`),
    withChecksum(`uapi_ak_${body}`),
    withChecksum(`${prefix}${body}x`),
    withChecksum(`${prefix}${body.slice(1)}`),
    ` ${withChecksum(prefix + body)}`.slice(0, 50),
    `${withChecksum(prefix + body)}\n`,
    withChecksum(`UAPI_at_${body}`),
    // Nine symbols reach further than 48 bits.
    withChecksum(`${prefix}${'z'.repeat(9)}${'x'.repeat(27)}`),
  ]
  for (const text of others) expect(timeOfSecret(text), text).toBeNull()
})

test('the largest time of 48 bits is valid, and a larger one is not', () => {
  const at = (text: string): string => withChecksum(`uapi_ac_${text}${'x'.repeat(27)}`)
  expect(timeSymbols(maxTime)).toBe('1HvWXNAa7')
  expect(timeOfSecret(at('1HvWXNAa7'))).toBe(maxTime)
  expect(timeOfSecret(at('1HvWXNAa8'))).toBeNull()
  expect(isMistyped(at('1HvWXNAa8'))).toBe(false)
})

test.each([
  [Number.NaN, 0],
  [-1, 0],
  [Number.NEGATIVE_INFINITY, 0],
  [Number.POSITIVE_INFINITY, maxTime],
  [2 ** 48, maxTime],
  [1e300, maxTime],
  [12.9, 12],
  [-0, 0],
])('the time %d counts as %d', (at, counted) => {
  expect(toTime48(at)).toBe(counted)
  expect(timeSymbols(at)).toBe(timeSymbols(counted))
})

test('a secret of the older form is mistyped only if its checksum is wrong', () => {
  fc.assert(
    fc.property(fc.constantFrom('ac', 'ak', 'at', 'cs', 'rt'), base62(43), (kind, random) => {
      const text = withChecksum(`uapi_${kind}_${random}`)
      expect(isMistyped(text)).toBe(false)
      expect(timeOfSecret(text)).toBeNull()
      const wrong = text.slice(0, -1) + (text.endsWith('0') ? '1' : '0')
      expect(isMistyped(wrong)).toBe(true)
    }),
    { numRuns },
  )
})

test('the checksum is the CRC-32 of everything before it', () => {
  const text = secretAt(1)
  const number = Array.from(text.slice(-6)).reduce((sum, symbol) => sum * 62 + symbols.indexOf(symbol), 0)
  expect(number).toBe(crc32(text.slice(0, -6)))
})
