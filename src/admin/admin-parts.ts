import type { LicenseRules } from '../domain/license-rules.ts'
import type { Clock } from '../ports/clock.ts'
import type { KeyGenerator } from '../ports/key-generator.ts'
import type { AdminStorage } from '../ports/storage.ts'
import { callWithin, type StorageCall } from '../ports/storage-call.ts'

/** Everything that provisioning needs. */
export interface AdminParts extends LicenseRules {
  readonly storage: AdminStorage
  readonly clock: Clock
  readonly keyGenerator: KeyGenerator
  /** The authorization server's name, in every answer of the page; undefined for none. */
  readonly issuer: string | undefined
}

/**
 * Returns the storage call that one method shares among all that it asks of the storage. It waits for half a minute,
 * because no other request waits for it.
 */
export function storageCall(): StorageCall {
  return callWithin(30_000)
}
