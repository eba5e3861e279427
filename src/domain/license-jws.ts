import { createPublicKey, hash, KeyObject, sign } from 'node:crypto'
import { UtilityApiError } from './errors.ts'
import type { License } from './license.ts'

/**
 * A public key that verifies signed licenses, as a member of a JWKS.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc8037#section-2 | RFC 8037 section 2}
 *
 * @group Licenses
 */
export interface LicenseJwk {
  /** The type of the key (RFC 8037). */
  readonly kty: 'OKP'
  /** Its curve. */
  readonly crv: 'Ed25519'
  /** The public key in base64url. */
  readonly x: string
  /** The key's thumbprint (RFC 7638), which the header of each signed license names. */
  readonly kid: string
  /** The algorithm that it verifies. */
  readonly alg: 'EdDSA'
  /** What it is for: signatures. */
  readonly use: 'sig'
}

/** Who a statement is from and for, and how long it holds. */
export interface StatementTerms {
  readonly issuer: string
  readonly audience: string | undefined
  /** In milliseconds since the epoch. */
  readonly now: number
  readonly lifetimeSeconds: number
}

/** What signs: a private key and the header that names it. */
export interface LicenseSigner {
  readonly jwk: LicenseJwk
  sign(license: License, terms: StatementTerms): string
}

/** Returns what is wrong with a value as a signing key, or null. Says nothing of what the key holds. */
export function problemOfSigningKey(value: unknown): string | null {
  if (!(value instanceof KeyObject)) {
    return 'must be a private Ed25519 KeyObject of node:crypto, or a list of them: write createPrivateKey(pem)'
  }
  if (value.type === 'public') return 'is a public key, and only the private one can sign'
  const type = value.asymmetricKeyType ?? value.type
  return type === 'ed25519' ? null : `must be an Ed25519 key, and is of the type ${type}`
}

/** @see RFC 7515 section 3.1 (compact serialization), RFC 8037 section 3.1 (EdDSA) */
export function licenseSigner(key: KeyObject): LicenseSigner {
  const jwk = publicJwk(key)
  const header = encoded({ alg: 'EdDSA', typ: 'license+jwt', kid: jwk.kid })
  return {
    jwk,
    sign(license, terms) {
      const input = `${header}.${encoded(claims(license, terms))}`
      return `${input}.${sign(null, Buffer.from(input), key).toString('base64url')}`
    },
  }
}

function publicJwk(key: KeyObject): LicenseJwk {
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' })
  // RFC 7638: the required members, in this order.
  const kid = hash('sha256', JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x }), 'base64url')
  return { kty: 'OKP', crv: 'Ed25519', x, kid, alg: 'EdDSA', use: 'sig' }
}

function claims(license: License, { issuer, audience, now, lifetimeSeconds }: StatementTerms): object {
  const seconds = Math.floor(now / 1000)
  // JSON has null for what is no number, and a statement with that would never expire.
  if (!Number.isSafeInteger(seconds))
    throw new UtilityApiError(
      'internal_error',
      'The clock tells no time: no statement can say when it expires.',
    )
  return {
    iss: issuer,
    sub: license.licenseKey,
    // JSON leaves out what is undefined.
    aud: audience,
    // Libraries refuse what was issued in the future, and a customer's clock may be minutes behind.
    iat: seconds - 300,
    // Some libraries take 0 for no end at all.
    exp: Math.max(1, Math.min(seconds + lifetimeSeconds, Math.floor((license.expiresAt ?? Infinity) / 1000))),
    status: license.status,
    registered_to: license.registeredTo,
    domain_or_ip: license.domainOrIp,
  }
}

function encoded(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}

/** Tells whether text can name an issuer or an audience (StringOrURI of RFC 7519 section 2). */
export function isStringOrUri(text: unknown): text is string {
  if (typeof text !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(text)) return false
  return !text.includes(':') || URL.canParse(text)
}
