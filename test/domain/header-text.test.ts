import { isUtf8 } from 'node:buffer'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hasAtMostCodePoints, decodeHeaderText, isPlainText } from '../../src/domain/header-text.ts'

const utf8 = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')

test('text in UTF-8 comes back as it was, but for the spaces around it', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      expect(decodeHeaderText(utf8(text))).toBe(text.trim())
    }),
    { numRuns: 2000 },
  )
})

test('octets are read as UTF-8 where they are that, and as Latin-1 where they are not', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (octets) => {
      const encoding = isUtf8(octets) ? 'utf8' : 'latin1'
      const text = decodeHeaderText(Buffer.from(octets).toString('latin1'))
      expect(text).toBe(Buffer.from(octets).toString(encoding).trim())
    }),
    { numRuns: 2000 },
  )
})

test.each([
  ['\u0000', false],
  ['\u001f', false],
  ['\u007f', false],
  ['\u009f', false],
  ['\u200e', false],
  ['\u2067', false],
  ['\u200d', true],
  ['\u00ad', true],
  ['\u{1f600}', true],
  ['', true],
])('%j is plain: %s', (text, plain) => {
  expect(isPlainText(`a${text}b`)).toBe(plain)
})

test.each([
  ['', 0, true],
  ['abc', 3, true],
  ['abcd', 3, false],
  ['a\u{1f600}\u00e9', 3, true],
  ['a\u{1f600}\u00e9', 2, false],
  ['\u{1f600}\u{1f600}', 2, true],
  ['\u{1f600}\u{1f600}', 1, false],
  // A lone half of a pair counts as well.
  ['\ud83d\ud83d', 2, true],
  ['\ud83d\ud83d', 1, false],
])('%j has at most %i code points, not UTF-16 units: %s', (text, limit, expected) => {
  expect(hasAtMostCodePoints(text, limit)).toBe(expected)
})
