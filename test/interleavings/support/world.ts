import type { Admin, KeyGenerator, UtilityApi } from 'utility-api'
import type { AdminStorage, AuthorizationCode, License, NewAccessToken } from 'utility-api/storage'
import { hashSecret, sha256 } from '../../../src/domain/secret.ts'
import type { BoundAdmin } from '../../../src/testing/contract/bound.ts'
import type { Listed } from '../../../src/testing/contract/model.ts'
import { license } from '../../storage/support/license.ts'

/** A server, of which there are two: `a` and `b`. Each makes one key, one secret of a kind and one id, which say its name. */
export interface Server {
  readonly name: string
  readonly storage: AdminStorage
  readonly api: UtilityApi
  readonly admin: Admin
}

export const secretOf = (name: string, kind: string): string => `${kind}-${name}-${'0'.repeat(32)}`
export const idOf = (name: string): string => `id-${name}`
export const keyOf = (name: string): string => `LIC-${name}`

export function keysOf(name: string): KeyGenerator {
  return {
    licenseKey: () => keyOf(name),
    parseLicenseKey: (text) => text,
    secret: (kind) => secretOf(name, kind),
    id: () => idOf(name),
  }
}

export const now: number = Date.UTC(2026, 0, 1)
const hour = 3_600_000
export const redirectUri = 'https://shop.example/callback'
export const tokens: Readonly<Record<'r1' | 'r2', string>> = {
  r1: secretOf('r1', 'reseller_token'),
  r2: secretOf('r2', 'reseller_token'),
}
export const clientSecret: string = secretOf('shop', 'client_secret')

/** The codes by name: `fresh` can be exchanged, `spent` has bought the token `old`, `late` has expired. */
const codes = ['fresh', 'spent', 'late']

export function codeRow(expiresAt: number = now + 60_000): AuthorizationCode {
  const granted = { clientId: 'shop', subject: 'ada', redirectUri, scope: 'a', codeChallenge: null }
  return { ...granted, expiresAt, redeemedAt: null }
}

/** The token that the exchange of this name buys. */
export function boughtToken(name: string): NewAccessToken {
  const grant = { ownerId: 'shop', subject: 'ada', scope: 'a' }
  const hash = hashSecret(secretOf(name, 'access_token'))
  return { id: idOf(name), hash, ...grant, createdAt: now, expiresAt: now + hour }
}

export function licenseRow(licenseKey: string, registeredTo: string = 'Ada'): License {
  const texts = { registeredTo, domainOrIp: 'shop.example', resellerId: 'r1' }
  return license(licenseKey, { ...texts, createdAt: now, updatedAt: now })
}

/** The idempotency key of this name as the reseller `r1` sends it for this user. */
export function orderOf(key: string, registeredTo: string): Parameters<BoundAdmin['insertLicense']>[1] {
  const request = [key, registeredTo, 'shop.example', 'valid']
  return {
    resellerId: 'r1',
    keyHash: sha256(key),
    requestHash: sha256(JSON.stringify(request)),
    at: now,
    expiresAt: now + 24 * hour,
  }
}

/** Makes all rows that were there before the two calls. `forgotten` is an idempotency key that has expired. */
export async function setUp(store: BoundAdmin): Promise<void> {
  const client = { clientId: 'shop', secretHashes: [sha256(clientSecret)], redirectUris: [redirectUri] }
  await store.insertClient({ ...client, createdAt: 1, revokedAt: null })
  for (const [id, secret] of Object.entries(tokens)) {
    const token = { id: `token of ${id}`, ownerId: id, subject: null, scope: '', createdAt: 1 }
    // oxlint-disable-next-line no-await-in-loop -- two
    await store.insertReseller({ resellerId: id, createdAt: 1 })
    const live = { ...token, expiresAt: null, revokedAt: null }
    // oxlint-disable-next-line no-await-in-loop -- as above
    await store.insertCredential('reseller_token', hashSecret(secret), live)
  }
  for (const name of codes)
    // oxlint-disable-next-line no-await-in-loop -- three
    await store.insertAuthorizationCode(hashSecret(name), codeRow(name === 'late' ? now : undefined))
  await store.redeemAuthorizationCode(hashSecret('spent'), 1, boughtToken('old'))
  await store.insertLicense(licenseRow('LIC-1'))
  const { at: _, ...order } = orderOf('forgotten', 'Ada') as NonNullable<ReturnType<typeof orderOf>>
  await store.insertLicense(licenseRow('LIC-2'), { ...order, at: 1, expiresAt: now })
}

/** What can be read of a store and of the model. */
export interface Readable extends BoundAdmin {
  list(what: Listed): unknown
}

const kinds = ['clients', 'resellers', 'licenses', 'access_token', 'reseller_token', 'api_key'] as const

/** Reads all rows. What is held under an idempotency key shows only when it is sent again. */
export const reads: readonly ((store: Readable) => unknown)[] = [
  ...kinds.map((kind) => (store: Readable) => store.list(kind)),
  (store) => store.findClient('shop'),
  ...[...codes, 'new', ...['a', 'b'].map((name) => secretOf(name, 'authorization_code'))].map(
    (secret) => (store: Readable) => store.findAuthorizationCode(hashSecret(secret)),
  ),
  ...['order', 'forgotten'].map(
    (key) => (store: Readable) => store.insertLicense(licenseRow(`LIC-${key}`), orderOf(key, 'Ada')),
  ),
]
