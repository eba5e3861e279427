import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { randomKeys } from 'utility-api'
import { describe, expect, test } from 'vitest'
import { storedLicenseKey } from '../../src/domain/license-key.ts'

const keyGenerator = randomKeys()
/** What a person typed, whether it means the key, and why. The programs in examples agree. */
const { key, typed } = JSON.parse(
  readFileSync(new URL('../../examples/license-check/vectors.json', import.meta.url), 'utf8'),
) as { key: string; typed: [text: string, isKey: boolean, why: string][] }

function stored(text: string, keyPrefix = 'LIC-'): string | null {
  return storedLicenseKey({ keyGenerator, keyPrefix }, text)
}

describe('a license key as a person types it', () => {
  test.each(typed)('%j means the key: %s, %s', (text, isKey) => {
    expect(stored(text) === key).toBe(isKey)
    expect(keyGenerator.parseLicenseKey(text.trim(), 'LIC-') === key).toBe(isKey)
  })

  test.each([
    ['a tab in another form', 'LIC-2026\t0001'],
    ['a line end in another form', 'LIC-2026\n0001'],
    ['an escape character inside', 'LIC-75XVC\u001b-XCH31-DRPY0-5VTSW-B1ZKR'],
    ['a NUL at its end', `${key}\u0000`],
    ['a wrong symbol', 'LIC-75XVC-XCH31-DRPY0-5VTSW-B1ZKS'],
    ['a direction mark inside', 'LIC-75XVC\u202e-XCH31-DRPY0-5VTSW-B1ZKR'],
    ['more than any key has', 'x'.repeat(129)],
    ['more than anybody types', `${key}${' '.repeat(500)}-`],
  ])('%s: no such key, and storage is not asked', (_, text) => {
    expect(stored(text)).toBeNull()
  })

  test('a text that is longer than anybody types is not read', () => {
    const [short, long] = [100, 500].map((blanks) => `${key}${' '.repeat(blanks)}`)
    expect(keyGenerator.parseLicenseKey(short ?? '', 'LIC-')).toBe(key)
    expect(keyGenerator.parseLicenseKey(long ?? '', 'LIC-')).toBe(long)
  })

  test.each([
    ['another prefix', 'OLD-75XVC-XCH31-DRPY0-5VTSW-B1ZKS'],
    ['another form', 'LIC-2026-0001'],
    ['without hyphens and with wrong check symbols', 'LIC-75XVCXCH31DRPY05VTSWB1ZKS'],
    ['a blank inside', 'LIC 75XVC XCH31'],
    ['dashes in a key of another generator', 'a\u2013b'],
    ['full-width letters in another form', '\uff2c\uff29\uff23-1'],
    ['zero-width spaces in another form', 'KEY\u200b-1'],
  ])('%s is looked up as it stands, without the blanks around it', (_, text) => {
    expect(stored(` ${text}\n`)).toBe(text)
  })

  test.each(['', 'LIC-', 'a-b-', '-', 'ACME_', 'lic.'])(
    'with the prefix %j, every way of typing it finds it',
    (prefix) => {
      const way = fc.tuple(
        fc.constantFrom('-', '', ' ', '\u2013', '\u2010', '\r\n', '\u200b-'),
        fc.boolean(),
        fc.constantFrom('', ' ', '\n', '\u00a0'),
      )
      fc.assert(
        fc.property(way, ([dash, lower, blank]) => {
          const made = keyGenerator.licenseKey(prefix)
          const changed = made.replaceAll('-', dash)
          expect(stored(`${blank}${lower ? changed.toLowerCase() : changed}${blank}`, prefix)).toBe(made)
        }),
      )
    },
  )
})
