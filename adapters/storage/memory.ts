/**
 * A store in the memory of the process, for tests and trials.
 *
 * @module utility-api/storage/memory
 */
import type { AdminStorage } from 'utility-api/storage'
import { closable } from './shared/closing.ts'
import { adminMethods } from './memory/admin.ts'
import { listingOf } from './memory/listing.ts'
import { servingMethods } from './memory/serving.ts'
import { createTables } from './memory/data.ts'

/**
 * Creates a store that exists only as long as the process: for tests and trials, never for licenses that somebody paid
 * for.
 *
 * Each method is atomic, because it runs in one turn of the event loop. The store holds a million rows of all kinds
 * together and then refuses new ones with a `StorageError` of kind `unavailable`. Nothing is evicted;
 * `purgeExpired` makes room.
 *
 * @example
 * ```ts
 * import { memoryStorage } from 'utility-api/storage/memory'
 *
 * const storage = memoryStorage()
 * ```
 *
 * @group Storage
 */
export function memoryStorage(): AdminStorage {
  const tables = createTables()
  return closable({ ...servingMethods(tables), ...adminMethods(tables) }, listingOf(tables))
}
