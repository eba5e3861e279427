import assert from 'node:assert/strict'
import { isUtf8 } from 'node:buffer'
import querystring from 'node:querystring'
import { bearerToken, createAdmin, randomKeys, type ErrorCode, type RequestLike } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { decodeHeaderText } from '../../src/domain/header-text.ts'
import { hashSecret, isMistyped } from '../../src/domain/secret.ts'
import { bodyParserFor } from '../../src/http/body-parser.ts'
import { createRouter } from '../../src/http/router.ts'
import { apiKeyScheme } from '../../src/security/api-key.ts'
import { oauthClientScheme } from '../../src/security/oauth-client.ts'
import type { BodyMembers, Scheme } from '../../src/security/scheme.ts'
import { inherited } from './mutate.ts'
import { pick, type Random } from './random.ts'
import { forgive, texts, unlessRefused, type FuzzTarget } from './target.ts'

const keys = randomKeys()
const known = ['grant_type', 'code', 'redirect_uri', 'client_id', 'client_secret', 'code_verifier']
const redirectUri = 'https://client.example/callback'
const storage = memoryStorage()
const admin = createAdmin({ storage })
const { clientId, clientSecret } = await admin.createClient({ redirectUris: [redirectUri] })
const { apiKey } = await admin.createApiKey()
const bearer = keys.secret('access_token', 0)

const members = {
  grant_type: 'authorization_code',
  code: keys.secret('authorization_code', 0),
  redirect_uri: redirectUri,
  client_id: clientId,
  client_secret: clientSecret,
}
const jsonBodies = texts(
  JSON.stringify(members),
  '{"code":"\\u0000\\ud800","code":"x"}',
  '[{"a":[1e400,"\\\\"]}]',
  '{"__proto__":{"a":1},"constructor":""}',
)
/** Throws unless there is a reason to refuse a body: no object, members that are dropped or many, or a deep one. */
function demandReason(input: Buffer): void {
  let json: unknown
  try {
    json = JSON.parse(input.toString())
  } catch {
    return
  }
  const colons = (text: string): number => text.split(':').length
  const isObject = typeof json === 'object' && json !== null && !Array.isArray(json)
  const text = input.toString()
  const isLarge = Math.max(colons(text), text.split(/[[{]/).length) > 10
  assert(!isObject || !isUtf8(input) || isLarge || colons(text) > colons(JSON.stringify(json)))
}

const formBodies = texts(String(new URLSearchParams(members)), 'code=a&code=b', 'a=%00%zz+%E4', '__proto__=1')

function parsed(type: string, input: Buffer): BodyMembers | undefined {
  const header = (name: string): string | null => (name === 'Content-Type' ? type : null)
  const request: RequestLike = {
    method: 'POST',
    url: '/',
    header,
    body: async () => input,
    signal: AbortSignal.any([]),
  }
  return unlessRefused(
    () => bodyParserFor(request)(input, known),
    ['invalid_request', 'unsupported_media_type'],
  )
}

const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`
const clientScheme = oauthClientScheme({ findClient: async (id, call) => storage.findClient(id, call) })
const keyScheme = apiKeyScheme({
  storage: { findCredential: async (...args) => storage.findCredential(...args) },
  clock: { now: () => Date.now() },
})

/** Whom headers authenticate; undefined where they are refused with this code. */
async function callerOf(
  { authenticate }: Pick<Scheme<object>, 'authenticate'>,
  headers: Readonly<Record<string, string>>,
  code: ErrorCode,
): Promise<object | undefined> {
  const header = (name: string): string | null => headers[name] ?? null
  try {
    return await authenticate({ header, body: new Map(), timeLeftMs: () => 1000 })
  } catch (error) {
    return forgive(error, [code])
  }
}

const route = createRouter(
  [
    { method: 'PUT', path: '/v2/reseller/{license_key}/update' },
    { method: 'POST', path: '/v4/oauth2/token' },
  ],
  '/api',
)

const symbols = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** The number that symbols are in base 32. */
function numberOf(digits: string): bigint {
  return [...digits.replaceAll('-', '')].reduce(
    (sum, digit) => sum * 32n + BigInt(symbols.indexOf(digit)),
    0n,
  )
}

/** A generated text with one symbol of its alphabet exchanged for another one. */
function misread(text: string, from: number, alphabet: string, random: Random): string {
  const at = from + random(text.length - from)
  const other = pick(random, [...alphabet])
  return text[at] === '-' || text[at] === other ? text : text.slice(0, at) + other + text.slice(at + 1)
}

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

export const partTargets: readonly FuzzTarget[] = [
  {
    name: 'a token body in JSON',
    corpus: jsonBodies,
    check(input) {
      const found = parsed('application/json', input)
      if (found === undefined) return demandReason(input)
      const sent = new Map<string, unknown>(Object.entries(JSON.parse(input.toString()) as object))
      for (const name of [...sent.keys(), ...inherited]) assert.deepEqual(found.get(name), sent.get(name))
    },
  },
  {
    name: 'a token body as a form',
    corpus: formBodies,
    check(input) {
      const found = parsed('application/x-www-form-urlencoded; charset=utf-8', input)
      if (found === undefined) return
      // With an ampersand before it, because a leading question mark belongs to a form, but not to a URL.
      const names = new Set(new URLSearchParams(`&${input.toString()}`).keys())
      const written = new URLSearchParams([...names].map((name) => [name, String(found.get(name))]))
      const again = parsed('application/x-www-form-urlencoded', Buffer.from(String(written)))
      const other = querystring.parse(input.toString(), '&', '=', { maxKeys: 0 })
      for (const name of known) assert.equal(found.get(name), other[name], 'another parser reads the same')
      for (const name of [...names, ...inherited])
        assert.equal(again?.get(name), found.get(name), 'written again it says the same')
    },
  },
  {
    name: 'the types of a body',
    corpus: texts(
      'application/json',
      'application/x-www-form-urlencoded; charset="utf-8"',
      'text/plain; charset=utf-8;x=y',
    ),
    check: (input) => parsed(input.toString('latin1'), Buffer.from('{}')),
  },
  {
    name: 'a bearer token',
    corpus: texts(`Bearer ${bearer}`, 'bearer  abc=', 'Bearer a, Bearer b'),
    check(input) {
      const found = unlessRefused(() => bearerToken(input.toString('latin1')), ['invalid_token'])
      if (found !== undefined) assert.match(found, /^[\w.~+/-]+=*$/)
    },
  },
  {
    name: 'an API key in the header Basic',
    corpus: texts(apiKey, 'a,b', 'schlüssel'),
    async check(input) {
      const header = input.toString('latin1')
      const caller = await callerOf(keyScheme, { Basic: header }, 'invalid_api_key')
      assert.equal(caller !== undefined, header === apiKey)
    },
  },
  {
    name: 'a client by HTTP Basic',
    corpus: texts(`${clientId}:${clientSecret}`, 'a%3Ab:%zz', ':', 'ü:ö', 'Basic ====', basic('a:b')),
    async check(input) {
      for (const header of [input.toString('latin1'), basic(input.toString())]) {
        // An empty header counts as none, and then the body lacks a client.
        const code = header === '' ? 'invalid_request' : 'invalid_client'
        const caller = await callerOf(clientScheme, { Authorization: header }, code)
        if (caller === undefined) continue
        const [id = '', secret = ''] = Buffer.from(header.slice(6), 'base64')
          .toString()
          .split(':')
          .map((half) => decodeURIComponent(half.replaceAll('+', ' ')))
        assert.deepEqual({ id, secret }, { id: clientId, secret: clientSecret })
      }
    },
  },
  {
    name: 'a header that people wrote',
    corpus: texts('Ada Lovelace', 'Università', '日本', '\u00a0 x \u3000', '😀'),
    check(input) {
      const latin1 = input.toString('latin1')
      const text = decodeHeaderText(latin1)
      const utf8 = input.toString()
      assert.equal(text, (isUtf8(input) ? utf8 : latin1).trim())
    },
  },
  {
    name: 'a path',
    corpus: texts(
      '/v2/reseller/LIC-1/update',
      '/api/v4/oauth2/token?x',
      'http://h:1/api/v2/reseller/a%20b/update#x',
      '//',
      '*',
      '/v2/reseller/%2F%C3%BC/update',
    ),
    check(input) {
      const key = route(input.toString('latin1'))?.params['license_key']
      assert(key !== '')
      const text = input.toString()
      if (!text.isWellFormed() || text === '') return
      assert.equal(route(`/api/v2/reseller/${encodeURIComponent(text)}/update`)?.params['license_key'], text)
    },
  },
  {
    name: 'a license key',
    corpus: texts(
      keys.licenseKey('LIC-'),
      keys.licenseKey('lic-').toLowerCase(),
      'LIC-',
      'of-another-kind',
      'LIC-OOOOO-IIIII-LLLLL-00000-00000',
    ),
    check(input, random) {
      const found = keys.parseLicenseKey(input.toString(), 'LIC-')
      if (found !== null)
        assert.equal(keys.parseLicenseKey(found, 'LIC-'), found, 'the stored form is stable')
      const [, drawn = '', checks = ''] = /^LIC-((?:\w{5}-){4}\w{3})(\w\w)$/.exec(found ?? '') ?? []
      if (/^[0-9A-HJKMNP-TV-Z-]+$/.test(drawn + checks))
        assert.equal(numberOf(drawn) % 1021n, numberOf(checks))
      const key = keys.licenseKey('LIC-')
      assert.equal(
        keys.parseLicenseKey(key.toLowerCase().replaceAll('0', 'o').replaceAll('1', 'l'), 'LIC-'),
        key,
      )
      const typo = misread(key, 4, symbols, random)
      if (typo !== key) assert.equal(keys.parseLicenseKey(typo, 'LIC-'), null, 'one wrong symbol is seen')
    },
  },
  {
    name: 'a secret',
    corpus: texts(bearer, apiKey, clientSecret, 'of-another-kind'),
    check(input, random) {
      const text = input.toString('latin1')
      assert.equal(hashSecret(text).length, 32)
      if (!/^uapi_\w\w_(?:\w{49}|\w{42})$/.test(text))
        assert.equal(isMistyped(text), false, 'what has another form is no typing error')
      const secret = keys.secret('api_key', 0)
      assert.equal(isMistyped(secret), false)
      const typo = misread(secret, 8, base62, random)
      if (typo !== secret) assert.equal(isMistyped(typo), true, 'one wrong symbol is seen')
    },
  },
]
