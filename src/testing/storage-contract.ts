import type { AdminStorage, MaybePromise, UtilityStorage } from '../ports/storage.ts'
import { codeCases } from './contract/codes.ts'
import type { ContractCase, ContractContext } from './contract/context.ts'
import { credentialCases } from './contract/credentials.ts'
import { failureCases } from './contract/failures.ts'
import { idempotencyCases } from './contract/idempotency.ts'
import { licenseCases } from './contract/licenses.ts'
import { listingCases } from './contract/listing.ts'
import { purgeCases } from './contract/purge.ts'
import { valueCases } from './contract/values.ts'

/**
 * What {@link storageContract} needs for one case.
 *
 * @group Testing
 */
export interface StorageFixture {
  /** The store under test, with its schema and without rows. */
  readonly storage: UtilityStorage
  /** Another instance on the same data, for races between processes. Default: those cases are not applicable. */
  readonly second?: UtilityStorage
  /** Puts rows in and reads them back. Default: `storage`, where it is an {@link AdminStorage}. */
  readonly seed?: AdminStorage
  /** Takes the database away from under the store. Default: the case of a lost database is not applicable. */
  disconnect?(): MaybePromise<void>
  /** Frees everything after the case. Called once, also after {@link disconnect}. */
  close(): MaybePromise<void>
}

/**
 * One promise of the storage port, with a way to see whether a store keeps it.
 *
 * @group Testing
 */
export interface StorageContractCase {
  /** What holds, and what breaking it would do to users. Unique and stable. */
  readonly name: string
  /** Throws where the store breaks the promise; `'not applicable'` where the fixture lacks what the case needs. */
  run(): Promise<'passed' | 'not applicable'>
}

/**
 * Every promise of the storage port as a case to run in the test framework of your choice.
 *
 * Made of data: no framework is imported, and each case makes a store of its own. A case that lacks what it needs answers
 * `'not applicable'` instead of passing, so that a green run says what it has shown.
 *
 * @param make - Makes an empty store; called once per case.
 *
 * @example
 * ```ts
 * import { test } from 'node:test'
 * import { storageContract } from 'utility-api/testing'
 *
 * for (const { name, run } of storageContract(() => ({ storage: myStorage(), close() {} }))) {
 *   test(name, async (t) => {
 *     if ((await run()) === 'not applicable') t.skip()
 *   })
 * }
 * ```
 *
 * @group Testing
 */
export function storageContract(make: () => MaybePromise<StorageFixture>): StorageContractCase[] {
  return contract.map((each) => ({ name: each.name, run: () => runCase(each, make) }))
}

const contract: readonly ContractCase[] = [
  ...codeCases,
  ...credentialCases,
  ...licenseCases,
  ...idempotencyCases,
  ...listingCases,
  ...purgeCases,
  ...valueCases,
  ...failureCases,
]

async function runCase(
  { needs = [], run }: ContractCase,
  make: () => MaybePromise<StorageFixture>,
): Promise<'passed' | 'not applicable'> {
  const fixture = await make()
  try {
    const context = toContext(fixture)
    if (needs.some((need) => context[need] === undefined)) return 'not applicable'
    // `needs` has been looked at: what the case uses is there.
    await run(context as Parameters<typeof run>[0])
    return 'passed'
  } finally {
    await fixture.close()
  }
}

function toContext(fixture: StorageFixture): ContractContext {
  const { storage, second } = fixture
  const admin = isAdminStorage(storage) ? storage : undefined
  return {
    storage,
    second,
    admin,
    seed: fixture.seed ?? admin,
    close: admin?.close?.bind(admin),
    ping: storage.ping?.bind(storage),
    disconnect: fixture.disconnect?.bind(fixture),
  }
}

function isAdminStorage(storage: UtilityStorage): storage is AdminStorage {
  return 'insertClient' in storage && 'listLicenses' in storage
}
