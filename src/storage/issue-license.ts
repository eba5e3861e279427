import { demand } from '../domain/arguments.ts'
import { comparedDomain } from '../domain/compared-domain.ts'
import { refused, UtilityApiError, type Refusal } from '../domain/errors.ts'
import type { License } from '../domain/license.ts'
import { storedLicenseKey } from '../domain/license-key.ts'
import { sha256 } from '../domain/secret.ts'
import type { Clock } from '../ports/clock.ts'
import type { KeyGenerator } from '../ports/key-generator.ts'
import type { UtilityStorage } from '../ports/storage.ts'
import type { StorageCall } from '../ports/storage-call.ts'

/** What issuing a license needs. */
export interface IssueParts {
  readonly storage: Pick<UtilityStorage, 'insertLicense'>
  readonly clock: Clock
  readonly keyGenerator: KeyGenerator
  readonly keyPrefix: string
}

/** What the issuer of a license decides. Without a key or a time of creation, it gets a new key, and is created now. */
export type IssuedFields = Pick<License, 'registeredTo' | 'domainOrIp' | 'status' | 'resellerId'> &
  Partial<Pick<License, 'licenseKey' | 'createdAt' | 'reference' | 'expiresAt'>>

/** What makes a repeat return the key of the license that the first call created. */
export interface Repeatable {
  /** Visible ASCII; a prefix keeps the keys of one sender separate from those of another. */
  readonly idempotencyKey: string
  /** What else a repeat must have in common with the first call. */
  readonly request: readonly string[]
  /** What is thrown at a repeat that does not. */
  readonly otherFields: Refusal
  /** How long the first call is remembered. Null: for ever. */
  readonly lifetimeMs: number | null
}

const keyAttempts = 4

/**
 * Stores a license, or returns one with the key that the same idempotency key got before, made of the fields of the
 * repeat. What is kept has no names, so that what the owner erases is gone.
 */
export async function issueLicense(
  parts: IssueParts,
  fields: IssuedFields,
  repeatable: Repeatable | undefined,
  call: StorageCall,
): Promise<License & { created: boolean }> {
  const now = parts.clock.now()
  const idempotency = repeatable && {
    resellerId: fields.resellerId,
    keyHash: sha256(repeatable.idempotencyKey),
    // Of the names alone, it would tell who tries names that somebody has been erased.
    requestHash: sha256(JSON.stringify([repeatable.idempotencyKey, ...repeatable.request])),
    at: now,
    expiresAt: repeatable.lifetimeMs === null ? null : now + repeatable.lifetimeMs,
  }
  for (let attempt = 1; attempt <= keyAttempts; attempt += 1) {
    const licenseKey = fields.licenseKey ?? newLicenseKey(parts)
    const defaults = { createdAt: now, reference: null, expiresAt: null }
    const license = { ...defaults, ...fields, licenseKey, updatedAt: now }
    const row = { ...license, comparedDomain: comparedDomain(fields.domainOrIp) }
    // Attempts depend on each other: a new key is made only once the last one is known to be taken.
    // oxlint-disable-next-line no-await-in-loop
    const result = await parts.storage.insertLicense(row, idempotency, call)
    if (result === 'inserted') return { ...license, created: true }
    if (result !== 'key_taken') {
      const isSame = idempotency && Buffer.compare(result.requestHash, idempotency.requestHash) === 0
      if (isSame === true) return { ...license, licenseKey: result.replay, created: false }
      throw repeatable ? refused(repeatable.otherFields) : new Error('A replay without an idempotency key.')
    }
    demand(fields.licenseKey === undefined, 'licenseKey is taken.')
  }
  throw new UtilityApiError('internal_error', 'No unused license key was found.')
}

/** Returns a new key. One that the generator itself would not find again must not be sold. */
function newLicenseKey(parts: IssueParts): string {
  const licenseKey = parts.keyGenerator.licenseKey(parts.keyPrefix)
  if (typeof licenseKey === 'string' && isFound(parts, licenseKey)) return licenseKey
  throw new Error('The key generator made a key that cannot be stored or found.')
}

/** Tells whether a stored key is found by those who type it as it is. */
export function isFound(parts: Omit<IssueParts, 'storage' | 'clock'>, licenseKey: string): boolean {
  return licenseKey !== '' && storedLicenseKey(parts, licenseKey) === licenseKey
}
