import { callWithin } from '../ports/storage-call.ts'
import type { AdminParts } from './admin-parts.ts'
import type { Admin } from './admin.ts'
import { withCheckedArguments } from './arguments.ts'
import { authorizationMethods } from './authorization-codes.ts'
import { clientMethods } from './clients.ts'
import { credentialMethods } from './credentials.ts'
import { licenseMethods } from './licenses.ts'
import { listMethods } from './lists.ts'
import { resellerMethods } from './resellers.ts'
import { timedAdminStorage } from '../storage/timed-admin-storage.ts'

/** A purge deletes rows in portions, and after a long pause there are many portions. */
const purgeTimeoutMs = 600_000

export function assembleAdmin(given: AdminParts): Admin {
  const storage = timedAdminStorage(given.storage)
  const parts = { ...given, storage }
  return withCheckedArguments({
    ...clientMethods(parts),
    ...authorizationMethods(parts),
    ...resellerMethods(parts),
    ...credentialMethods(parts),
    ...licenseMethods(parts),
    ...listMethods(parts),
    purgeExpired: async () => storage.purgeExpired(parts.clock.now(), callWithin(purgeTimeoutMs)),
  })
}
