import { isUtf8 } from 'node:buffer'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { codePointCount, decodeHeaderText, isPlainText } from '../../src/domain/header-text.ts'

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

test('code points are counted, not UTF-16 units', () => {
  expect(codePointCount('a\u{1f600}\u00e9')).toBe(3)
})
