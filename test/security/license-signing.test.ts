/** Signed licenses: what they say, and that JWT libraries of others verify them and nothing else. */
import { createPublicKey, type KeyObject } from 'node:crypto'
import { inspect } from 'node:util'
import { calculateJwkThumbprint, createLocalJWKSet, jwtVerify, SignJWT, type JWTVerifyOptions } from 'jose'
import { createUtilityApi, UtilityApiError } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { expect, test } from 'vitest'
import { issuer, newKey, signingWorld, startTime } from './support/signing-world.ts'

const week = 7 * 86_400
const now = Math.floor(startTime / 1000)
const expected: JWTVerifyOptions = {
  issuer,
  typ: 'license+jwt',
  algorithms: ['EdDSA'],
  currentDate: new Date(startTime),
}

test('a statement says all of a license, in the header and claims of the standards', async () => {
  const { api, license } = signingWorld()
  const key = await license('Università 山田', 'shop.example')
  const statement = await api.signLicense(key.toLowerCase(), {
    lifetimeSeconds: week,
    audience: 'shop-plugin',
  })
  const jwks = createLocalJWKSet(api.licenseJwks())
  const { payload, protectedHeader } = await jwtVerify(statement, jwks, {
    ...expected,
    audience: 'shop-plugin',
  })
  const [jwk] = api.licenseJwks().keys
  expect(protectedHeader).toEqual({ alg: 'EdDSA', typ: 'license+jwt', kid: jwk?.kid })
  expect(payload).toEqual({
    iss: issuer,
    sub: key,
    aud: 'shop-plugin',
    // A customer's clock may be behind: some libraries refuse what was issued in the future.
    iat: now - 300,
    exp: now + week,
    status: 'valid',
    registered_to: 'Università 山田',
    domain_or_ip: 'shop.example',
  })
  expect(statement).toMatch(/^[\w-]+\.[\w-]+\.[\w-]{86}$/)
})

test('without an audience there is no such claim, and an invalid license is signed as invalid', async () => {
  const { api, license } = signingWorld()
  const key = await license('Ada Lovelace', '192.0.2.1', 'invalid')
  const statement = await api.signLicense(key, { lifetimeSeconds: 1 })
  const { payload } = await jwtVerify(statement, createLocalJWKSet(api.licenseJwks()), expected)
  expect(payload).not.toHaveProperty('aud')
  expect(payload).toMatchObject({ status: 'invalid', domain_or_ip: '192.0.2.1', exp: now + 1 })
})

test('another type, issuer, audience, algorithm or key, and a past lifetime, are refused', async () => {
  const { api, license } = signingWorld()
  const key = await license('Ada Lovelace', 'shop.example')
  const statement = await api.signLicense(key, { lifetimeSeconds: week, audience: 'shop-plugin' })
  const jwks = createLocalJWKSet(api.licenseJwks())
  const verify = (options: JWTVerifyOptions, keys = jwks): Promise<unknown> =>
    jwtVerify(statement, keys, { ...expected, ...options })
  await verify({ audience: 'shop-plugin' })
  await expect(verify({ typ: 'at+jwt' })).rejects.toMatchObject({ claim: 'typ' })
  await expect(verify({ issuer: 'https://other.example' })).rejects.toMatchObject({ claim: 'iss' })
  await expect(verify({ audience: 'theme' })).rejects.toMatchObject({ claim: 'aud' })
  await expect(verify({ algorithms: ['ES256'] })).rejects.toMatchObject({ code: 'ERR_JOSE_ALG_NOT_ALLOWED' })
  await expect(verify({ currentDate: new Date((now + week) * 1000) })).rejects.toMatchObject({ claim: 'exp' })
  const others = createLocalJWKSet(signingWorld().api.licenseJwks())
  await expect(verify({}, others)).rejects.toMatchObject({ code: 'ERR_JWKS_NO_MATCHING_KEY' })
  const [mine, theirs] = [api, signingWorld().api].map((each) => each.licenseJwks().keys[0])
  const forged = createLocalJWKSet({ keys: [{ ...theirs, kid: mine?.kid } as never] })
  await expect(verify({}, forged)).rejects.toMatchObject({ code: 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED' })
})

test('a token of another type by the same key is no license', async () => {
  const key = newKey()
  const { api } = signingWorld({ issuer, signingKey: key })
  const [jwk] = api.licenseJwks().keys
  const other = new SignJWT({ status: 'valid' }).setProtectedHeader({
    alg: 'EdDSA',
    typ: 'at+jwt',
    kid: jwk?.kid ?? '',
  })
  const token = await other.setIssuer(issuer).sign(key)
  await expect(jwtVerify(token, createLocalJWKSet(api.licenseJwks()), expected)).rejects.toMatchObject({
    claim: 'typ',
  })
})

test('during a rotation the first key signs, and statements of either verify with the published set', async () => {
  const [old, next] = [newKey(), newKey()]
  const storage = memoryStorage()
  const before = signingWorld({ issuer, signingKey: [old, next] }, storage)
  const after = signingWorld({ issuer, signingKey: [next, old] }, storage)
  const alone = signingWorld({ issuer, signingKey: next }, storage)
  const key = await before.license('Ada Lovelace', 'shop.example')
  const kids = before.api.licenseJwks().keys.map(({ kid }) => kid)
  expect(after.api.licenseJwks().keys.map(({ kid }) => kid)).toEqual(kids.toReversed())

  const options = { lifetimeSeconds: week }
  const [older, newer] = [
    await before.api.signLicense(key, options),
    await after.api.signLicense(key, options),
  ]
  for (const world of [before, after]) {
    const jwks = createLocalJWKSet(world.api.licenseJwks())
    expect((await jwtVerify(older, jwks, expected)).protectedHeader.kid).toBe(kids[0])
    expect((await jwtVerify(newer, jwks, expected)).protectedHeader.kid).toBe(kids[1])
  }
  const last = createLocalJWKSet(alone.api.licenseJwks())
  await jwtVerify(newer, last, expected)
  await expect(jwtVerify(older, last, expected)).rejects.toMatchObject({ code: 'ERR_JWKS_NO_MATCHING_KEY' })
})

test('a published key is the public half, named by its thumbprint', async () => {
  const key = newKey()
  const { api } = signingWorld({ issuer, signingKey: key })
  const { keys } = api.licenseJwks()
  const { x } = createPublicKey(key).export({ format: 'jwk' })
  const kid = await calculateJwkThumbprint({ kty: 'OKP', crv: 'Ed25519', x: x ?? '' })
  expect(keys).toEqual([{ kty: 'OKP', crv: 'Ed25519', x, kid, alg: 'EdDSA', use: 'sig' }])
  // What a caller does to an answer changes no other.
  keys.pop()
  expect(api.licenseJwks().keys).toHaveLength(1)
})

test('the private key is nowhere in what a program can print', async () => {
  const key = newKey()
  const { api, license } = signingWorld({ issuer, signingKey: key })
  const statement = await api.signLicense(await license('Ada', 'a.example'), { lifetimeSeconds: 1 })
  const failure = await api.signLicense('nobody', { lifetimeSeconds: 1 }).catch((error: unknown) => error)
  const printed = inspect([api, api.licenseJwks(), statement, failure], { depth: null, showHidden: true })
  for (const secret of secretsOf(key)) expect(printed).not.toContain(secret)
})

function secretsOf(key: KeyObject): string[] {
  const { d = '' } = key.export({ format: 'jwk' })
  return [d, Buffer.from(d, 'base64url').toString('hex'), Buffer.from(d, 'base64url').toString('base64')]
}

test('a key nobody has, a closed service and a failing storage are the errors of findLicense', async () => {
  const memory = memoryStorage()
  let reads = 0
  let fails = false
  const { api, license } = signingWorld(undefined, {
    ...memory,
    findLicense(...args) {
      reads += 1
      if (fails) throw new Error('secret of the database')
      return memory.findLicense(...args)
    },
  })
  const key = await license('Ada Lovelace', 'shop.example')
  const options = { lifetimeSeconds: week }
  await expect(api.signLicense('other', options)).rejects.toMatchObject({
    code: 'license_not_found',
    status: 404,
  })
  expect(reads).toBe(1)
  const mistyped = key.slice(0, -1) + (key.endsWith('7') ? '8' : '7')
  await expect(api.signLicense(mistyped, options)).rejects.toMatchObject({ code: 'license_not_found' })
  expect(reads).toBe(1)
  fails = true
  await expect(api.signLicense(key, options)).rejects.toMatchObject({ code: 'database_error', status: 500 })
  fails = false
  await api.close()
  await expect(api.signLicense(key, options)).rejects.toMatchObject({ code: 'unavailable', status: 503 })
  expect(api.licenseJwks().keys).toHaveLength(1)
})

test('a storage that never answers is given up at the deadline', async () => {
  const storage = { ...memoryStorage(), findLicense: () => new Promise<never>(() => {}) }
  const licenses = { issuer, signingKey: newKey() }
  const api = createUtilityApi({ storage, licenses, storageTimeoutMs: 1, dns: false, blockgame: false })
  await expect(api.signLicense('any', { lifetimeSeconds: 1 })).rejects.toMatchObject({
    code: 'database_error',
  })
})

const lifetime = 'lifetimeSeconds must be an integer from 1 to 315360000.'
const audience = 'audience must be 1 to 255 visible ASCII characters, and a URI if it has a colon.'

test.each<[unknown, string]>([
  [undefined, 'options must be an object: write { lifetimeSeconds }.'],
  [null, 'options must be an object: write { lifetimeSeconds }.'],
  [[], 'options must be an object: write { lifetimeSeconds }.'],
  [{}, lifetime],
  [{ lifetimeSeconds: '60' }, lifetime],
  [{ lifetimeSeconds: 0 }, lifetime],
  [{ lifetimeSeconds: 1.5 }, lifetime],
  [{ lifetimeSeconds: Number.NaN }, lifetime],
  [{ lifetimeSeconds: Infinity }, lifetime],
  [{ lifetimeSeconds: 315_360_001 }, lifetime],
  [{ lifetimeSeconds: 60, audience: '' }, audience],
  [{ lifetimeSeconds: 60, audience: 'a b' }, audience],
  [{ lifetimeSeconds: 60, audience: 'a: b' }, audience],
  [{ lifetimeSeconds: 60, audience: ['shop-plugin'] }, audience],
  [{ lifetimeSeconds: 60, audience: null }, audience],
  [{ lifetimeSeconds: 60, lifetime: 5 }, 'lifetime is not known here; lifetimeSeconds is.'],
])('signLicense with %j says: %s', async (options, message) => {
  const { api } = signingWorld()
  const refused = { code: 'invalid_argument', message }
  await expect(api.signLicense('any', options as never)).rejects.toMatchObject(refused)
})

test('a key that is no text is refused', async () => {
  const { api } = signingWorld()
  const refused = { code: 'invalid_argument', message: 'licenseKey must be a string.' }
  await expect(api.signLicense(7 as never, { lifetimeSeconds: 1 })).rejects.toMatchObject(refused)
})

test('without a key both say which option is missing', async () => {
  const { api } = signingWorld({})
  const missing = {
    code: 'invalid_options',
    message: 'licenses.signingKey: is needed to sign licenses.',
  }
  const failure: unknown = await api
    .signLicense('any', { lifetimeSeconds: 1 })
    .catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(UtilityApiError)
  expect(failure).toMatchObject(missing)
  expect(() => api.licenseJwks()).toThrow(expect.objectContaining(missing))
})

test.each([Number.NaN, Number.POSITIVE_INFINITY])('a clock that says %d signs nothing', async (time) => {
  const { storage, license } = signingWorld()
  const key = await license('Ada', 'shop.example')
  const clock = { now: () => time }
  await using api = createUtilityApi({
    storage,
    clock,
    licenses: { issuer, signingKey: newKey() },
    dns: false,
  })
  await expect(api.signLicense(key, { lifetimeSeconds: 60 })).rejects.toMatchObject({
    code: 'internal_error',
    message: 'The clock tells no time: no statement can say when it expires.',
  })
})
