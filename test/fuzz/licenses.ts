import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto'
import { createLocalJWKSet, jwtVerify, type JWTPayload } from 'jose'
import { licenseSigner } from '../../src/domain/license-jws.ts'
import { texts, type FuzzTarget } from './target.ts'

const { privateKey } = generateKeyPairSync('ed25519')
const publicKey = createPublicKey(privateKey)
const signer = licenseSigner(privateKey)
const issuer = 'https://shop.example'
const keys = createLocalJWKSet({ keys: [{ ...signer.jwk }] })
const license = {
  licenseKey: 'LIC-1',
  registeredTo: 'Ada',
  domainOrIp: 'shop.example',
  status: 'valid',
  resellerId: 'r',
  expiresAt: null,
} as const
const now = Date.UTC(2026, 0, 1)
const terms = { issuer, audience: 'shop-plugin', now, lifetimeSeconds: 60 }
const statement = signer.sign(license as never, terms)
const [header = '', payload = ''] = statement.split('.')

/** Reads a statement as our programs do, with the library that they use. */
async function byLibrary(text: string): Promise<JWTPayload | null> {
  const options = {
    algorithms: ['EdDSA'],
    typ: 'license+jwt',
    issuer,
    audience: 'shop-plugin',
    requiredClaims: ['exp'],
    currentDate: new Date(now),
  }
  return jwtVerify(text, keys, options).then(
    ({ payload: claims }) => claims,
    () => null,
  )
}

/** Reads it the plain way. */
function plainly(text: string): JWTPayload | null {
  const parts = text.split('.')
  const [head = '', body = '', signature = ''] = parts
  if (
    parts.length !== 3 ||
    !verify(null, Buffer.from(`${head}.${body}`), publicKey, Buffer.from(signature, 'base64url'))
  )
    return null
  return JSON.parse(Buffer.from(body, 'base64url').toString()) as JWTPayload
}

function signed(claims: string): string {
  const input = `${header}.${Buffer.from(claims).toString('base64url')}`
  return `${input}.${sign(null, Buffer.from(input), privateKey).toString('base64url')}`
}

export const licenseTargets: readonly FuzzTarget[] = [
  {
    name: 'a signed license',
    corpus: texts(
      statement,
      `${header}.${payload}.`,
      signer.sign(license as never, { ...terms, audience: undefined }),
    ),
    async check(input) {
      const text = input.toString('latin1')
      const claims = await byLibrary(text)
      if (claims !== null) assert.deepEqual(claims, plainly(text))
      if (claims !== null) assert.equal(text.split('.').slice(0, 2).join('.'), `${header}.${payload}`)
    },
  },
  {
    name: 'the claims of a signed license',
    corpus: [Buffer.from(payload, 'base64url')],
    async check(input) {
      const claims = await byLibrary(signed(input.toString('latin1')))
      if (claims === null) return
      assert.deepEqual(claims, JSON.parse(Buffer.from(input.toString('latin1')).toString()))
      assert((claims.exp as number) > now / 1000 && claims.iss === issuer)
    },
  },
]
