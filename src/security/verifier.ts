import type { Credential } from '../domain/credentials.ts'
import { demand } from '../domain/arguments.ts'
import { refused, shuttingDown } from '../domain/errors.ts'
import { toLicense, type License } from '../domain/license.ts'
import { storedLicenseKey } from '../domain/license-key.ts'
import type { KeyGenerator } from '../ports/key-generator.ts'
import { callWithin, type StorageCall } from '../ports/storage-call.ts'
import { andThen, type MaybePromise } from '../domain/maybe-promise.ts'
import type { TimedStorage } from '../storage/timed-storage.ts'
import { requirePermission, verifyApiKey } from './api-key.ts'
import { challenging, requireScope, verifyBearer, wanted, type ChallengeOptions } from './bearer.ts'
import type { CredentialParts } from './scheme.ts'

/**
 * What an access token grants.
 *
 * @group Verification
 */
export interface AccessGrant {
  /** Identifier of the token; safe to log. */
  readonly tokenId: string
  /** The client it was issued to; null for a token that was created without one. */
  readonly clientId: string | null
  /** On whose behalf it acts: the subject of the code that bought it; null if none was named. */
  readonly subject: string | null
  /** The scope granted: names separated by spaces, `''` for none. */
  readonly scope: string
  /** When it expires; null if it never does, as only tokens that were put into the database by others. */
  readonly expiresAt: Date | null
}

/**
 * Verifies what the operations and `createAdmin` issue, for your own routes. The same rules apply as in the operations,
 * enforced by the same code. Nothing is cached, so a revocation takes effect at once. Calls count toward no rate limit.
 *
 * A refusal is a `UtilityApiError` with `status` and `headers`, which the error handlers of Express, Fastify, Koa and
 * Hono turn into the right answer. An argument of another type and an unknown option are `invalid_argument`.
 *
 * @group Verification
 */
export interface Verifier {
  /**
   * Verifies an access token. Undefined and null count as a missing token.
   *
   * @param options - `scope`: names separated by spaces, all of which the token must have. `resourceMetadata`: what the
   *   challenge of a refusal names, with the scope.
   *
   * @see {@link https://www.rfc-editor.org/rfc/rfc9728#section-5.1 | RFC 9728 section 5.1}
   *
   * @throws `UtilityApiError` `invalid_token` (401), `insufficient_scope` (403), `database_error` (500), `unavailable`
   * (503) after `close()`
   *
   * @example
   * ```ts
   * app.get('/orders', async (request, response) => {
   *   const { subject } = await api.verifyAccessToken(bearerToken(request.headers.authorization), { scope: 'orders' })
   *   response.json(await ordersOf(subject))
   * })
   * ```
   */
  readonly verifyAccessToken: (
    token: string | null | undefined,
    options?: ChallengeOptions,
  ) => Promise<AccessGrant>
  /**
   * Verifies a reseller token. Undefined and null count as a missing token.
   *
   * @throws `UtilityApiError` `invalid_token` (401), `database_error` (500), `unavailable` (503) after `close()`
   */
  readonly verifyResellerToken: (
    token: string | null | undefined,
  ) => Promise<{ tokenId: string; resellerId: string }>
  /**
   * Verifies an API key. Undefined and null, as for a header that was not sent, count as a missing key.
   *
   * @param options - `permission`: names separated by spaces, all of which the key must have.
   *
   * @throws `UtilityApiError` `invalid_api_key` (401), `database_error` (500), `unavailable` (503) after `close()`
   */
  readonly verifyApiKey: (
    apiKey: string | null | undefined,
    options?: { readonly permission?: string },
  ) => Promise<{ apiKeyId: string; permissions: string[] }>
  /**
   * Returns the license with this key as a person typed it, or null if none exists. Use this for software that asks
   * whether its license is valid.
   *
   * @throws `UtilityApiError` `database_error` (500), `unavailable` (503) after `close()`
   */
  readonly findLicense: (licenseKey: string) => Promise<License | null>
}

/** Everything that verification needs. */
export interface VerifierParts extends CredentialParts {
  readonly storage: TimedStorage
  readonly keyGenerator: KeyGenerator
  readonly keyPrefix: string
  readonly storageTimeoutMs: number
  /** Aborted once the service is closed. */
  readonly closing: { readonly aborted: boolean }
}

/** Creates the verifier. Each method returns what the scheme's own check says. */
export function createVerifier(parts: VerifierParts): Verifier {
  const { storage, storageTimeoutMs, closing } = parts
  async function ifOpen<Result>(work: (call: StorageCall) => MaybePromise<Result>): Promise<Result> {
    if (closing.aborted) throw refused(shuttingDown, { retryAfterSeconds: 1 })
    return work(callWithin(storageTimeoutMs))
  }
  return {
    verifyAccessToken: (token, options = {}) => {
      const verify = (): Promise<AccessGrant> =>
        ifOpen((call) => {
          const scope = wanted('scope', options, 'resourceMetadata')
          return andThen(verifyBearer(parts, 'access_token', given('token', token), call), (credential) => {
            requireScope(credential, scope)
            return accessGrant(credential)
          })
        })
      // In JavaScript, it may be null, which is refused inside the promise.
      return (options as typeof options | null)?.resourceMetadata === undefined
        ? verify()
        : challenging(options, verify)
    },
    verifyResellerToken: (token, ...others: unknown[]) =>
      ifOpen((call) => {
        demand(others.length === 0, 'options: a reseller token has no scope.')
        const found = verifyBearer(parts, 'reseller_token', given('token', token), call)
        return andThen(found, ({ id, ownerId }) => ({ tokenId: id, resellerId: ownerId }))
      }),
    verifyApiKey: (apiKey, options) =>
      ifOpen((call) => {
        const permission = wanted('permission', options)
        return andThen(verifyApiKey(parts, given('apiKey', apiKey), call), (credential) => {
          requirePermission(credential, permission)
          const { id, scope } = credential
          return { apiKeyId: id, permissions: scope === '' ? [] : scope.split(' ') }
        })
      }),
    findLicense: (licenseKey) =>
      ifOpen((call) => {
        demand(typeof licenseKey === 'string', 'licenseKey must be a string.')
        const stored = storedLicenseKey(parts, licenseKey)
        if (stored === null) return null
        return andThen(storage.findLicense(stored, call), (license) => license && toLicense(license))
      }),
  }
}

/** Returns a credential, or undefined if there is none. */
function given(name: 'token' | 'apiKey', credential: string | null | undefined): string | undefined {
  const isCredential = typeof (credential ?? '') === 'string'
  const write = name === 'token' ? 'bearerToken(request.headers.authorization)' : 'request.headers.basic'
  demand(isCredential, `${name} must be a string: write ${write}.`)
  return credential ?? undefined
}

/** A token that was created without a client owns itself. */
function accessGrant({ id, ownerId, subject, scope, expiresAt }: Credential): AccessGrant {
  const clientId = ownerId === id ? null : ownerId
  return { tokenId: id, clientId, subject, scope, expiresAt: expiresAt === null ? null : new Date(expiresAt) }
}
