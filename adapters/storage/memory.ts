/**
 * A store in the memory of the process, for tests and trials.
 *
 * @module utility-api/storage/memory
 */
import { StorageError, type AdminStorage } from 'utility-api/storage'
import { adminMethods } from './memory-admin.ts'
import { listingOf } from './memory-listing.ts'
import { servingMethods } from './memory-serving.ts'
import { createTables, requireRoom, type MemoryAccess, type Tables } from './memory-data.ts'

/**
 * Makes a store that lives and dies with the process: for tests and trials, never for licenses somebody paid for.
 *
 * Atomic, because each method runs in one turn of the event loop. Holds a million rows of all kinds together and then
 * refuses new ones with a {@link StorageError} of kind `unavailable`; nothing is evicted. `purgeExpired` makes room.
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
  let closed = false

  function open(): Tables {
    if (closed) throw new StorageError('unavailable', 'The storage is closed.')
    return tables
  }
  const access: MemoryAccess = {
    open,
    openForInsert: () => {
      requireRoom(open())
      return tables
    },
  }

  return {
    close: () => {
      closed = true
    },
    ...servingMethods(access),
    ...adminMethods(access),
    listing: listingOf(access),
  }
}
