import fc from 'fast-check'
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { hashSecret, matchesSecret, sha256, timeSymbols, withChecksum } from '../../src/domain/secret.ts'
import { codePoint } from '../support/code-point.ts'

const hex = (key: Uint8Array): string => Buffer.from(key).toString('hex')
const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

function orderedSecret(at: number, random = 'x'.repeat(27)): string {
  return withChecksum(`uapi_at_${timeSymbols(at)}${random}`)
}

test('the key of an ordered secret is six octets of its time and 26 of its SHA-256', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 48 - 1 }), (at) => {
      const secret = orderedSecret(at)
      const key = Buffer.from(hashSecret(secret))
      expect(key).toHaveLength(32)
      expect(key.readUIntBE(0, 6)).toBe(at)
      expect(hex(key.subarray(6))).toBe(hex(digest(secret).subarray(6)))
    }),
  )
})

test("keys sort in the order of their secrets' times", () => {
  const time = fc.integer({ min: 0, max: 2 ** 48 - 1 })
  fc.assert(
    fc.property(time, time, (first, second) => {
      fc.pre(first !== second)
      const [a, b] = [hashSecret(orderedSecret(first)), hashSecret(orderedSecret(second))]
      expect(Math.sign(Buffer.compare(a, b))).toBe(Math.sign(first - second))
    }),
  )
})

test('secrets of one millisecond have keys of their own', () => {
  const [a, b] = ['a', 'b'].map((symbol) => hex(hashSecret(orderedSecret(5, symbol.repeat(27)))))
  expect(a).not.toBe(b)
})

test('the key of any other text is its whole SHA-256', () => {
  const others = fc.oneof(
    fc.string(),
    fc.string({ unit: codePoint }),
    fc.constant(withChecksum(`uapi_at_${'a'.repeat(43)}`)),
    fc.constant(withChecksum(`uapi_cs_${timeSymbols(5)}${'x'.repeat(27)}`)),
    // A time that somebody wrote in by hand.
    fc.integer({ min: 0, max: 2 ** 40 }).map((at) => orderedSecret(at).slice(0, -1) + '!'),
    fc
      .integer({ min: 6, max: 2 ** 40 })
      .map((at) => orderedSecret(5).replace(timeSymbols(5), timeSymbols(at))),
  )
  fc.assert(
    fc.property(others, (text) => {
      expect(hex(hashSecret(text))).toBe(hex(digest(text)))
      expect(hex(sha256(text))).toBe(hex(digest(text)))
    }),
  )
})

test('a client secret is compared by its whole SHA-256, even one with the form of a token', () => {
  const secret = orderedSecret(5)
  expect(matchesSecret(secret, [digest(secret)])).toBe(true)
  expect(matchesSecret(secret, [hashSecret(secret)])).toBe(false)
  const almost = digest(secret)
  almost[0] = (almost[0] ?? 0) ^ 1
  expect(matchesSecret(secret, [almost])).toBe(false)
  expect(matchesSecret(secret, [almost, digest(secret)])).toBe(true)
  expect(matchesSecret(secret, [])).toBe(false)
  const ofAnotherLength = digest(secret).subarray(0, 20)
  expect(matchesSecret(secret, [ofAnotherLength])).toBe(false)
  expect(matchesSecret(secret, [ofAnotherLength, digest(secret)])).toBe(true)
})
