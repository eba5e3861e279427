import * as fc from 'fast-check'
import { randomKeys } from 'utility-api'
import { describe, expect, test } from 'vitest'
import { storedLicenseKey } from '../../src/domain/license-key.ts'

const keyGenerator = randomKeys()
const key = 'LIC-75XVC-XCH31-DRPY0-5VTSW-B1ZKR'

function stored(text: string, keyPrefix = 'LIC-'): string | null {
  return storedLicenseKey({ keyGenerator, keyPrefix }, text)
}

describe('a license key as a person types it', () => {
  test.each([
    ['as it is', key],
    ['blanks around it', `  ${key} `],
    ['a tab and a line feed around it', `\t${key}\n`],
    ['the line end of another system', `${key}\r\n`],
    ['no-break spaces', `\u00a0${key}\u202f`],
    ['the byte order mark of a file', `\ufeff${key}`],
    ['lower case', key.toLowerCase()],
    ['letters for digits', 'LIC-75XVC-XCH3I-DRPYO-5VTSW-BlZKR'],
    ['no hyphens', 'LIC75XVCXCH31DRPY05VTSWB1ZKR'],
    ['no hyphens but the first', 'LIC-75XVCXCH31DRPY05VTSWB1ZKR'],
    ['some hyphens left out', 'LIC-75XVCXCH31-DRPY0-5VTSWB1ZKR'],
    ['en dashes', key.replaceAll('-', '\u2013')],
    ['em dashes', key.replaceAll('-', '\u2014')],
    ['hyphens that do not break', key.replaceAll('-', '\u2011')],
    ['minus signs', key.replaceAll('-', '\u2212')],
    ['full-width hyphens', key.replaceAll('-', '\uff0d')],
    ['soft hyphens', key.replaceAll('-', '\u00ad')],
    ['all at once', ` ${key.toLowerCase().replaceAll('-', '\u2013').replaceAll('0', 'o')}\r\n`],
  ])('%s', (_, text) => {
    expect(stored(text)).toBe(key)
  })

  test.each([
    ['a tab inside', 'LIC-75XVC\t-XCH31-DRPY0-5VTSW-B1ZKR'],
    ['a line end inside', 'LIC-75XVC-XCH31-\nDRPY0-5VTSW-B1ZKR'],
    ['a NUL at its end', `${key}\u0000`],
    ['a wrong symbol', 'LIC-75XVC-XCH31-DRPY0-5VTSW-B1ZKS'],
    ['a direction mark inside', 'LIC-75XVC\u202e-XCH31-DRPY0-5VTSW-B1ZKR'],
    ['more than any key has', 'x'.repeat(129)],
  ])('%s: no such key, and storage is not asked', (_, text) => {
    expect(stored(text)).toBeNull()
  })

  test.each([
    ['another prefix', 'OLD-75XVC-XCH31-DRPY0-5VTSW-B1ZKS'],
    ['another form', 'LIC-2026-0001'],
    ['without hyphens and with wrong check symbols', 'LIC-75XVCXCH31DRPY05VTSWB1ZKS'],
    ['a blank inside', 'LIC 75XVC XCH31'],
    ['dashes in a key of another generator', 'a\u2013b'],
  ])('%s is looked up as it stands, without the blanks around it', (_, text) => {
    expect(stored(` ${text}\n`)).toBe(text)
  })

  test.each(['', 'LIC-', 'a-b-', '-', 'ACME_', 'lic.'])(
    'with the prefix %j, every way of typing it finds it',
    (prefix) => {
      const way = fc.tuple(
        fc.constantFrom('-', '', '\u2013', '\u2010'),
        fc.boolean(),
        fc.constantFrom('', ' ', '\n', '\u00a0'),
      )
      fc.assert(
        fc.property(way, ([dash, lower, blank]) => {
          const made = keyGenerator.licenseKey(prefix)
          const typed = made.replaceAll('-', dash)
          expect(stored(`${blank}${lower ? typed.toLowerCase() : typed}${blank}`, prefix)).toBe(made)
        }),
      )
    },
  )
})
