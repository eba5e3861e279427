import type { MaybePromise } from '../ports/maybe-promise.ts'
import type { AdminStorage, UtilityStorage } from '../ports/storage.ts'
import { accessCases } from './contract/access.ts'
import { clientCases } from './contract/clients.ts'
import { codeCases } from './contract/codes.ts'
import { bindAdmin, bindListing, bindStorage, enoughTime } from './contract/bound.ts'
import {
  withOwnRows,
  type ContractCase,
  type ContractContext,
  type HistoryOptions,
} from './contract/context.ts'
import { credentialCases } from './contract/credentials.ts'
import { cutCases } from './contract/cuts.ts'
import { failureCases } from './contract/failures.ts'
import { historyCases } from './contract/history.ts'
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
  /**
   * Puts rows in and reads them back. With {@link cutAfter}, over a connection of its own. It takes no test away from
   * `storage`. Default: `storage`, where it is an {@link AdminStorage}.
   */
  readonly seed?: AdminStorage
  /** Takes the database away from under the store. Default: the case of a lost database is not applicable. */
  disconnect?(): MaybePromise<void>
  /**
   * Cuts the connection of `storage` after so many more replies of the database, once; then it can connect again. A proxy
   * that counts replies, say; 0 cuts at the next one, and with more than a method needs, the next call is cut. Default: the cases of a cut connection are not applicable.
   */
  cutAfter?(replies: number): MaybePromise<void>
  /** Frees everything after the case. Called once, also after {@link disconnect}. */
  close(): MaybePromise<void>
}

/**
 * How long the random histories of {@link storageContract} are.
 *
 * @group Testing
 */
export interface StorageContractOptions {
  /** One history for each number, the same for the same number. Default: `[1]`. */
  readonly seeds?: readonly number[]
  /** Calls of a history. Default: 500. */
  readonly calls?: number
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
 * Two of the cases are histories: random calls, each answer compared with what a plain model of the port answers. What
 * fails is shortened and printed with its seed.
 *
 * @param make - Makes an empty store; called once per case, and for each history and each attempt at shortening one.
 * @param options - Seeds and length of the histories.
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
export function storageContract(
  make: () => MaybePromise<StorageFixture>,
  { seeds = [1], calls = 500 }: StorageContractOptions = {},
): StorageContractCase[] {
  return contract.map((each) => ({ name: each.name, run: () => runCase(each, make, { seeds, calls }) }))
}

const contract: readonly ContractCase[] = [
  ...codeCases,
  ...clientCases,
  ...accessCases,
  ...credentialCases,
  ...licenseCases,
  ...idempotencyCases,
  ...listingCases,
  ...purgeCases,
  ...valueCases,
  ...failureCases,
  ...cutCases,
  ...historyCases,
]

async function runCase(
  { needs = [], run }: ContractCase,
  make: () => MaybePromise<StorageFixture>,
  history: HistoryOptions,
): Promise<'passed' | 'not applicable'> {
  let isApplicable = true
  const fresh: ContractContext['fresh'] = (work) =>
    withFixture(make, (fixture) => work(toContext(fixture, history, fresh)))
  await fresh(async (context) => {
    isApplicable = needs.every((need) => context[need] !== undefined)
    // `needs` has been looked at: what the case uses is there.
    if (isApplicable) await withOwnRows(() => run(context as Parameters<typeof run>[0]))
  })
  return isApplicable ? 'passed' : 'not applicable'
}

async function withFixture(
  make: () => MaybePromise<StorageFixture>,
  work: (fixture: StorageFixture) => Promise<void>,
): Promise<void> {
  const fixture = await make()
  try {
    await work(fixture)
  } finally {
    await fixture.close()
  }
}

function toContext(
  fixture: StorageFixture,
  history: HistoryOptions,
  fresh: ContractContext['fresh'],
): ContractContext {
  const { storage, second } = fixture
  const admin = isAdminStorage(storage) ? storage : undefined
  const seed = fixture.seed ?? admin
  return {
    storage: bindStorage(storage),
    second: second && bindStorage(second),
    admin: admin && bindAdmin(admin),
    secondAdmin: second && isAdminStorage(second) ? bindAdmin(second) : undefined,
    seed: seed && bindAdmin(seed),
    listing: admin?.listing && bindListing(admin.listing),
    unbound: storage,
    unboundAdmin: admin,
    close: admin?.close?.bind(admin),
    ping: storage.ping && (() => storage.ping?.(enoughTime())),
    disconnect: fixture.disconnect?.bind(fixture),
    cutAfter: fixture.cutAfter?.bind(fixture),
    history,
    fresh,
  }
}

function isAdminStorage(storage: UtilityStorage): storage is AdminStorage {
  return 'insertClient' in storage && 'purgeExpired' in storage
}
