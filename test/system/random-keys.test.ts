import fc from 'fast-check'
import { crc32 } from 'node:zlib'
import { randomKeys, type SecretKind } from 'utility-api'
import { expect, test } from 'vitest'

const numRuns = Number(process.env['PROPERTY_RUNS'] ?? 2000)
const keys = randomKeys()
const symbols = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const kinds: SecretKind[] = [
  'access_token',
  'api_key',
  'authorization_code',
  'client_secret',
  'reseller_token',
]

/** Positions of the 25 symbols in a key with the prefix LIC-. */
const positions = Array.from({ length: 25 }, (_, index) => 4 + index + Math.floor(index / 5))

test('a license key is its prefix and five groups of five Crockford symbols', () => {
  for (let count = 0; count < 1000; count += 1) {
    expect(keys.licenseKey('LIC-')).toMatch(/^LIC-[0-9A-HJKMNP-TV-Z]{5}(?:-[0-9A-HJKMNP-TV-Z]{5}){4}$/)
  }
  expect(keys.licenseKey('')).toMatch(/^[0-9A-Z]{5}-/)
})

test('its own keys are canonical', () => {
  for (let count = 0; count < 1000; count += 1) {
    const key = keys.licenseKey('LIC-')
    expect(keys.parseLicenseKey(key, 'LIC-')).toBe(key)
  }
})

test('a key is read in any case, with O for 0 and I or L for 1', () => {
  fc.assert(
    fc.property(fc.noShrink(fc.nat()), fc.infiniteStream(fc.nat(2)), (_, choices) => {
      const key = keys.licenseKey('LIC-')
      const typed = Array.from(key.slice(4)).map((symbol) => {
        const choice = choices.next().value ?? 0
        if (symbol === '0') return '0Oo'[choice]
        if (symbol === '1') return '1Il'[choice]
        return choice === 0 ? symbol : symbol.toLowerCase()
      })
      expect(keys.parseLicenseKey(`LIC-${typed.join('')}`, 'LIC-')).toBe(key)
    }),
    { numRuns },
  )
})

test('no single wrong symbol and no swap of neighbours passes the check symbols', () => {
  for (let count = 0; count < 40; count += 1) {
    const key = keys.licenseKey('LIC-')
    for (const position of positions) {
      for (const symbol of symbols) {
        if (symbol === key[position]) continue
        const wrong = key.slice(0, position) + symbol + key.slice(position + 1)
        expect(keys.parseLicenseKey(wrong, 'LIC-')).toBeNull()
      }
    }
    for (const [index, position] of positions.slice(0, -1).entries()) {
      const next = positions[index + 1] ?? 0
      if (key[position] === key[next]) continue
      const swapped = [...key]
      ;[swapped[position], swapped[next]] = [key[next] ?? '', key[position] ?? '']
      expect(keys.parseLicenseKey(swapped.join(''), 'LIC-')).toBeNull()
    }
  }
})

test.each([
  ['another prefix', 'KEY-00000-00000-00000-00000-00001'],
  ['the prefix in another case', 'lic-00000-00000-00000-00000-00001'],
  ['a short group', 'LIC-0000-00000-00000-00000-00001'],
  ['a sixth group', 'LIC-00000-00000-00000-00000-00000-00000'],
  ['a symbol that Crockford left out', 'LIC-U0000-00000-00000-00000-00000'],
  ['no groups', 'LIC-1'],
  ['the prefix alone', 'LIC-'],
  ['nothing', ''],
  ['a letter that upper-cases to ASCII', 'LIC-0000\u0131-00000-00000-00000-00001'],
])('%s is looked up as it stands', (_, text) => {
  expect(keys.parseLicenseKey(text, 'LIC-')).toBe(text)
})

test('every symbol of a key is drawn evenly', () => {
  const counts = new Map<string, number>()
  for (let count = 0; count < 4000; count += 1) {
    for (const position of positions.slice(0, 23)) {
      const symbol = keys.licenseKey('LIC-')[position] ?? ''
      counts.set(symbol, (counts.get(symbol) ?? 0) + 1)
    }
  }
  const expected = (4000 * 23) / 32
  expect(counts.size).toBe(32)
  // Six standard deviations: an even source fails this about once in ten million runs.
  for (const count of counts.values())
    expect(Math.abs(count - expected)).toBeLessThan(6 * Math.sqrt(expected))
})

test.each(kinds)('%s: what scanners look for', (kind) => {
  const pattern = /\buapi_(?:ac|ak|at|cs|rt)_[0-9A-Za-z]{49}\b/
  const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  const seen = new Set<string>()
  for (let count = 0; count < 500; count += 1) {
    const secret = keys.secret(kind)
    expect(secret).toMatch(new RegExp(`^${pattern.source}$`))
    const checksum = Array.from(secret.slice(-6)).reduce(
      (sum, symbol) => sum * 62 + base62.indexOf(symbol),
      0,
    )
    expect(checksum).toBe(crc32(secret.slice(0, -6)))
    seen.add(secret)
  }
  expect(seen.size).toBe(500)
  expect(new Set([...seen].map((secret) => secret.slice(0, 8))).size).toBe(1)
})

test('every base62 symbol of a secret is drawn evenly', () => {
  const counts = new Map<string, number>()
  for (let count = 0; count < 4000; count += 1) {
    for (const symbol of keys.secret('api_key').slice(8, -6))
      counts.set(symbol, (counts.get(symbol) ?? 0) + 1)
  }
  const expected = (4000 * 43) / 62
  expect(counts.size).toBe(62)
  for (const count of counts.values())
    expect(Math.abs(count - expected)).toBeLessThan(6 * Math.sqrt(expected))
})

test('kinds have prefixes of their own', () => {
  expect(new Set(kinds.map((kind) => keys.secret(kind).slice(0, 8))).size).toBe(kinds.length)
})

test('identifiers are unique', () => {
  expect(new Set(Array.from({ length: 1000 }, () => keys.id())).size).toBe(1000)
})
