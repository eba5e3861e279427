import fc from 'fast-check'
import { crc32 } from 'node:zlib'
import { createAdmin, createUtilityApi, randomKeys, type SecretKind, type UtilityStorage } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { expect, test } from 'vitest'
import { isMistyped, timeOfSecret } from '../../src/domain/secret.ts'

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
      const prefix = choices.next().value === 0 ? 'LIC-' : 'lic-'
      expect(keys.parseLicenseKey(prefix + typed.join(''), 'LIC-')).toBe(key)
    }),
    { numRuns },
  )
})

test('a key typed all in lower case is recognized, prefix included', () => {
  for (const prefix of ['LIC-', 'Shop_7.', '']) {
    const key = keys.licenseKey(prefix)
    expect(keys.parseLicenseKey(key.toLowerCase(), prefix)).toBe(key)
    expect(keys.parseLicenseKey(key.toUpperCase(), prefix)).toBe(key)
  }
})

test('no key holds a control character, wherever it stands', () => {
  const anywhere = fc.tuple(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }))
  const control = fc.constantFrom('\0', '\t', '\n', '\r', '\u001b', '\u007f', '\u0080', '\u009b', '\u009f')
  fc.assert(
    fc.property(
      anywhere,
      control,
      fc.constantFrom('', 'LIC-', 'lic-'),
      ([before, after], character, prefix) => {
        expect(keys.parseLicenseKey(prefix + before + character + after, 'LIC-')).toBeNull()
      },
    ),
  )
})

test('an update by a key with control characters is a 404 without a storage call', async () => {
  const memory = memoryStorage()
  const { token } = await createAdmin({ storage: memory }).createReseller({})
  let updates = 0
  const storage: UtilityStorage = {
    ...memory,
    updateLicense(...update) {
      updates += 1
      return memory.updateLicense(...update)
    },
  }
  await using api = createUtilityApi({ storage, dns: false, blockgame: false })
  const headers = { Authorization: `Bearer ${token}`, 'X-Status': 'valid' }
  const statusOf = async (key: string): Promise<number[]> => {
    const url = `http://localhost/v2/reseller/${encodeURIComponent(key)}/update`
    const request = (): Request => new Request(url, { method: 'PUT', headers })
    const byPath = await api.fetch(request())
    const byParams = await api.handlers.updateLicense(request(), { params: { license_key: key } })
    return [byPath.status, byParams.status]
  }
  for (const key of ['\0', 'LIC-\0', 'a\u001b[2J', '\u0085b']) expect(await statusOf(key)).toEqual([404, 404])
  expect(updates).toBe(0)
  expect(await statusOf('KEY-1')).toEqual([404, 404])
  expect(updates).toBe(2)
})

test('a key as mail has changed it is found by its path and by findLicense', async () => {
  const storage = memoryStorage()
  const admin = createAdmin({ storage })
  const { resellerId, token } = await admin.createReseller({})
  const sold = { resellerId, registeredTo: 'Ada', domainOrIp: 'shop.example' }
  const { licenseKey } = await admin.createLicense(sold)
  await using api = createUtilityApi({ storage, dns: false, blockgame: false })
  const fullWidth = licenseKey.replaceAll(/[^-]/g, (each) =>
    String.fromCodePoint(each.charCodeAt(0) + 0xfee0),
  )
  const dashes = ['\r\n', '\t', ' ', '\u00a0', '\u2011', '\u2013', '\u200b', '-\u200b\r\n']
  for (const typed of [...dashes.map((dash) => licenseKey.replaceAll('-', dash)), fullWidth]) {
    const url = `http://localhost/v2/reseller/${encodeURIComponent(typed)}/update`
    const headers = { Authorization: `Bearer ${token}`, 'X-Status': 'valid' }
    const { status } = await api.fetch(new Request(url, { method: 'PUT', headers }))
    const found = await api.findLicense(typed)
    expect([typed, status, found?.licenseKey]).toEqual([typed, 200, licenseKey])
  }
})

test('no single wrong symbol and no swap of neighbors passes the check symbols', () => {
  for (let count = 0; count < 10; count += 1) {
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
  ['another shape behind the prefix in lower case', 'lic-1'],
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
  const pattern = /\buapi_(?:ac|ak|at|cs|rt)_[0-9A-Za-z]{42}(?:[0-9A-Za-z]{7})?\b/
  const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  const seen = new Set<string>()
  for (let count = 0; count < 500; count += 1) {
    const secret = keys.secret(kind, 0)
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
    for (const symbol of keys.secret('api_key', 0).slice(8, -6))
      counts.set(symbol, (counts.get(symbol) ?? 0) + 1)
  }
  const expected = (4000 * 43) / 62
  expect(counts.size).toBe(62)
  for (const count of counts.values())
    expect(Math.abs(count - expected)).toBeLessThan(6 * Math.sqrt(expected))
})

test('each kind has its own prefix', () => {
  expect(new Set(kinds.map((kind) => keys.secret(kind, 0).slice(0, 8))).size).toBe(kinds.length)
})

test('identifiers are unique, and UUIDs of version 7 with the time they were made', () => {
  const ids = Array.from({ length: 1000 }, (_, index) => keys.id(1_600_000_000_000 + index))
  expect(new Set(ids).size).toBe(1000)
  expect(ids.toSorted()).toEqual(ids)
  for (const [index, id] of ids.entries()) {
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(Number.parseInt(id.replace('-', '').slice(0, 12), 16)).toBe(1_600_000_000_000 + index)
  }
  expect(new Set(Array.from({ length: 1000 }, () => keys.id(5))).size).toBe(1000)
})

test.each(['access_token', 'authorization_code'] as const)('%s: begins with its time', (kind) => {
  const at = Date.now()
  const secrets = Array.from({ length: 300 }, (_, index) => keys.secret(kind, at + index))
  expect(secrets.toSorted()).toEqual(secrets)
  for (const secret of secrets) expect(secret.slice(8)).toMatch(/^[0-9A-Za-z]{42}$/)
  expect(secrets.map(timeOfSecret)).toEqual(secrets.map((_, index) => at + index))
  const ofOneMoment = Array.from({ length: 300 }, () => keys.secret(kind, at).slice(17, -6))
  expect(new Set(ofOneMoment).size).toBe(300)
})

test.each(['api_key', 'client_secret', 'reseller_token'] as const)('%s: shows no time', (kind) => {
  for (const secret of [keys.secret(kind, 1), keys.secret(kind, 2)]) {
    expect(secret.slice(8)).toMatch(/^[0-9A-Za-z]{49}$/)
    expect(timeOfSecret(secret)).toBeNull()
  }
})

test('without time order no secret and no identifier shows a time', () => {
  const plain = randomKeys({ timeOrdered: false })
  for (const kind of kinds) {
    expect(plain.secret(kind, 5)).toMatch(/^uapi_[a-z]{2}_[0-9A-Za-z]{49}$/)
    expect(timeOfSecret(plain.secret(kind, 5))).toBeNull()
  }
  expect(plain.id(5)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4/)
})

test('a wrong option is refused, not ignored', () => {
  const wrong = [{ timeordered: false }, { timeOrdered: 0 }, null] as never[]
  expect(wrong.map((options) => captured(() => randomKeys(options)))).toEqual([
    ['invalid_options', 'timeordered: is not an option; timeOrdered is.'],
    ['invalid_options', 'timeOrdered: must be true or false.'],
    ['invalid_options', 'options: must be an object, as in { timeOrdered }.'],
  ])
})

function captured(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    const { code, message } = error as { code: string; message: string }
    return [code, message]
  }
}

test.each([Number.NaN, -1, -Infinity, Infinity, 2 ** 48, Number.MAX_VALUE, 1.5])(
  'a clock that says %d breaks no key',
  (at) => {
    for (const kind of kinds) {
      const secret = keys.secret(kind, at)
      expect(isMistyped(secret)).toBe(false)
      expect(keys.secret(kind, at)).not.toBe(secret)
    }
    expect(keys.secret('access_token', at)).toHaveLength(50)
    expect(keys.id(at)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  },
)
