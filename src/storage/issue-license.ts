import { comparedDomain } from '../domain/compared-domain.ts'
import { refused, UtilityApiError, type Refusal } from '../domain/errors.ts'
import type { License } from '../domain/license.ts'
import { storedLicenseKey } from '../domain/license-key.ts'
import { sha256 } from '../domain/secret.ts'
import type { Clock } from '../ports/clock.ts'
import type { KeyGenerator } from '../ports/key-generator.ts'
import type { InsertLicenseResult, NewIdempotencyKey, UtilityStorage } from '../ports/storage.ts'
import type { StorageCall } from '../ports/storage-call.ts'

/** What issuing a license needs. */
export interface IssueParts {
  readonly storage: Pick<UtilityStorage, 'insertLicense'>
  readonly clock: Clock
  readonly keyGenerator: KeyGenerator
  readonly keyPrefix: string
}

/** The fields of a license that its issuer decides. */
export type IssuedFields = Pick<License, 'registeredTo' | 'domainOrIp' | 'status' | 'resellerId'>

/** What makes a repeat return the license that the first call created. */
export interface Repeatable {
  /** Visible ASCII; a prefix keeps the keys of one sender separate from those of another. */
  readonly idempotencyKey: string
  readonly lifetimeMs: number
}

const keyAttempts = 4

/** The refusal of a repeat with other fields. */
export const otherFields: Refusal = {
  code: 'idempotency_mismatch',
  message: 'The Idempotency-Key was sent before with other fields.',
}

/** Stores a license under a new key, or returns the one that the same idempotency key got before. */
export async function issueLicense(
  parts: IssueParts,
  fields: IssuedFields,
  repeatable: Repeatable | undefined,
  call: StorageCall,
): Promise<License> {
  const now = parts.clock.now()
  const { registeredTo, domainOrIp, status, resellerId } = fields
  const idempotency = repeatable && {
    resellerId,
    keyHash: sha256(repeatable.idempotencyKey),
    requestHash: sha256(JSON.stringify([registeredTo, domainOrIp, status])),
    expiresAt: now + repeatable.lifetimeMs,
  }
  for (let attempt = 1; attempt <= keyAttempts; attempt += 1) {
    const licenseKey = newLicenseKey(parts)
    const license = {
      licenseKey,
      registeredTo,
      domainOrIp,
      status,
      resellerId,
      createdAt: now,
      updatedAt: now,
    }
    const row = { ...license, comparedDomain: comparedDomain(domainOrIp) }
    // Attempts depend on each other: a new key is made only once the last one is known to be taken.
    // oxlint-disable-next-line no-await-in-loop
    const result = await parts.storage.insertLicense(row, idempotency, call)
    if (result === 'inserted') return license
    if (result !== 'key_taken') return replayed(result, idempotency)
  }
  throw new UtilityApiError('internal_error', 'No unused license key was found.')
}

/** Returns a new key. One that the generator itself would not find again must not be sold. */
function newLicenseKey(parts: IssueParts): string {
  const licenseKey = parts.keyGenerator.licenseKey(parts.keyPrefix)
  const isKey = typeof licenseKey === 'string' && licenseKey !== ''
  if (isKey && storedLicenseKey(parts, licenseKey) === licenseKey) return licenseKey
  throw new Error('The key generator made a key that cannot be stored or found.')
}

function replayed(
  first: Exclude<InsertLicenseResult, string>,
  idempotency: NewIdempotencyKey | undefined,
): License {
  if (idempotency !== undefined && Buffer.compare(first.requestHash, idempotency.requestHash) === 0)
    return first.replay
  throw refused(otherFields)
}
