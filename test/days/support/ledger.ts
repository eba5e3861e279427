import type { AdminStorage, AuthorizationCode, NewAccessToken } from 'utility-api/storage'
import { callWithin } from 'utility-api/storage'
import type { OpenQuestion } from './day-scene.ts'

/** A code, and what has become of it. */
export interface CodeEntry {
  readonly code: AuthorizationCode
  readonly storedAt: number
  redemptions: number
  tokenHash: Uint8Array | undefined
  tokenStoredAt: number
  answers: number
  /** A revocation that began after it was stored has been answered: it buys no token any more. */
  ended: boolean
}

/** What really happened in the store, whatever anybody was told. */
export interface Ledger {
  readonly codes: Map<string, CodeEntry>
  /** The fields that updates have written. */
  readonly written: Set<string>
  /** Who owns each license, by key. */
  readonly owners: Map<string, string>
  /** The license and the end of each idempotency key, by reseller and key. */
  readonly firsts: Map<string, { readonly licenseKey: string; readonly expiresAt: number }>
  /** Every question that was asked, by its serial number, which is also its answer. */
  readonly questions: Map<number, OpenQuestion>
  /** Tokens that must not be live, since a revocation has been answered. */
  readonly dead: Map<string, Uint8Array>
  /** Notes a call that the store has done. Returns what must not be. */
  applied(method: string, args: readonly unknown[], answer: unknown, sequence: number): string | undefined
  /** Whether the store itself has the code. */
  hasCode(hash: Uint8Array): boolean
  /** Whether the token is live in the store itself. */
  isLive(hash: Uint8Array, now: number): boolean
}

export function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

export function createLedger(storage: AdminStorage): Ledger {
  const codes = new Map<string, CodeEntry>()
  const written = new Set<string>()
  const owners = new Map<string, string>()
  const firsts: Ledger['firsts'] = new Map()

  function redeemed(args: readonly unknown[], sequence: number): string | undefined {
    const [codeHash, at, token] = args as [Uint8Array, number, NewAccessToken]
    const entry = codes.get(hex(codeHash))
    if (entry === undefined) return 'an unknown code was redeemed'
    entry.redemptions += 1
    entry.tokenHash = token.hash
    entry.tokenStoredAt = sequence
    if (entry.redemptions > 1) return 'a code was redeemed twice'
    if (entry.ended) return 'a code was redeemed after a revocation was answered'
    if (at >= entry.code.expiresAt) return 'an expired code was redeemed'
    return undefined
  }

  function inserted(args: readonly unknown[]): string | undefined {
    const [license, key] = args as [
      { licenseKey: string; resellerId: string; createdAt: number },
      { keyHash: Uint8Array; expiresAt: number } | undefined,
    ]
    owners.set(license.licenseKey, license.resellerId)
    if (key === undefined) return undefined
    const name = `${license.resellerId} ${hex(key.keyHash)}`
    const first = firsts.get(name)
    firsts.set(name, { licenseKey: license.licenseKey, expiresAt: key.expiresAt })
    return first !== undefined && first.expiresAt > license.createdAt
      ? 'one idempotency key got two licenses'
      : undefined
  }

  return {
    codes,
    written,
    owners,
    firsts,
    questions: new Map(),
    dead: new Map(),
    applied(method, args, answer, sequence) {
      if (method === 'insertAuthorizationCode') {
        const [hash, code] = args as [Uint8Array, AuthorizationCode]
        const fresh = { redemptions: 0, tokenHash: undefined, tokenStoredAt: 0, answers: 0, ended: false }
        codes.set(hex(hash), { code, storedAt: sequence, ...fresh })
      }
      if (method === 'redeemAuthorizationCode' && answer === true) return redeemed(args, sequence)
      if (method === 'insertLicense' && answer === 'inserted') return inserted(args)
      if (method === 'updateLicense' && answer === 'updated') {
        const [{ licenseKey, resellerId, patch }] = args as [
          { licenseKey: string; resellerId: string; patch: { registeredTo?: string } },
        ]
        written.add(patch.registeredTo ?? '')
        if (owners.get(licenseKey) !== resellerId)
          return 'a license was changed by a reseller who does not own it'
      }
      return undefined
    },
    hasCode: (hash) => storage.findAuthorizationCode(hash, callWithin(1000)) !== null,
    isLive(hash, now) {
      const row = storage.findCredential('access_token', hash, callWithin(1000))
      if (row === null || 'then' in row) return false
      return row.revokedAt === null && (row.expiresAt ?? Infinity) > now
    },
  }
}
