import { inTime } from '../bounds/in-time.ts'
import { demand, invalidOption, isOptions, requireOptions } from '../domain/arguments.ts'
import type { MaybePromise } from '../domain/maybe-promise.ts'
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
import { copyCases } from './contract/copies.ts'
import { cutCases } from './contract/cuts.ts'
import { domainCases } from './contract/domains.ts'
import { failureCases } from './contract/failures.ts'
import { historyCases } from './contract/history.ts'
import { idempotencyCases } from './contract/idempotency.ts'
import { licenseCases } from './contract/licenses.ts'
import { listingCases } from './contract/listing.ts'
import { purgeCases } from './contract/purge.ts'
import { useCases } from './contract/uses.ts'
import { valueCases } from './contract/values.ts'
import { wrongRowCases } from './contract/wrong-rows.ts'

/**
 * What {@link storageContract} needs for one case.
 *
 * @group Testing
 */
export interface StorageFixture {
  /** The store under test, with its schema but without rows. */
  readonly storage: UtilityStorage
  /** Another instance on the same data, for races between processes. Default: those cases are not applicable. */
  readonly second?: UtilityStorage
  /**
   * Inserts rows and reads them back; every promise is still tested on `storage`. Default: {@link second}, or else
   * `storage`, if it is an {@link AdminStorage}; otherwise most cases are not applicable.
   */
  readonly seed?: AdminStorage
  /** Makes the database unavailable to the store. Default: the case of a lost database is not applicable. */
  disconnect?(): MaybePromise<void>
  /**
   * Cuts the connection of `storage` once, after this many more replies of the database, and then lets it connect again:
   * for example with a proxy that counts replies. 0 cuts at the next reply. If a method needs fewer replies, the next
   * call is cut. It needs a {@link second} or a {@link seed}, whose connections it leaves alone. Default: the cases of a
   * cut connection are not applicable.
   */
  cutAfter?(replies: number): MaybePromise<void>
  /** Frees everything after the case. Called once, also after {@link disconnect}. */
  close(): MaybePromise<void>
}

/**
 * The seeds and the length of the random histories of {@link storageContract}.
 *
 * @group Testing
 */
export interface StorageContractOptions {
  /**
   * The seeds: one history is run for each of these integers. There must be at least one. The same integer gives the
   * same history. Default: `[1]`.
   */
  readonly seeds?: readonly number[]
  /** The number of calls in a history, at least 1. Default: 500. */
  readonly calls?: number
}

/**
 * One promise of the storage port, with a test of whether a store keeps it.
 *
 * @group Testing
 */
export interface StorageContractCase {
  /** What holds, and what breaking it would do to users. Unique and stable. */
  readonly name: string
  /**
   * The version of this package that the case came with, such as `1.0`. A case of a later version than your adapter was
   * written for may find a fault that was there before; it never demands what the port of that version did not.
   */
  readonly since: string
  /** Throws if the store breaks the promise. Returns `'not applicable'` if the fixture lacks what the case needs. */
  run(): Promise<'passed' | 'not applicable'>
}

/**
 * Every promise of the storage port as a case to run in the test framework of your choice.
 *
 * The cases are plain data. No framework is imported, and each case creates its own store. A case that lacks what it
 * needs returns `'not applicable'` instead of passing, so that a green run shows only what was tested.
 *
 * Two of the cases are histories: random calls, with each answer compared to that of a plain model of the port. A
 * history that fails is shortened and printed with its seed.
 *
 * @param make - Creates an empty store. Called once per case, and for each history and each attempt at shortening one.
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
 * @throws `UtilityApiError` `invalid_options` if an option is invalid or unknown; `invalid_argument` if `make` is not a
 * function
 *
 * @group Testing
 */
export function storageContract(
  make: () => MaybePromise<StorageFixture>,
  options: StorageContractOptions = {},
): StorageContractCase[] {
  demand(typeof make === 'function', `make must be a function: write storageContract(${exampleFixture}).`)
  requireOptions(options, ['seeds', 'calls'])
  const { seeds = [1], calls = 500 } = options
  // Histories of no calls would pass for every store.
  if (!Array.isArray(seeds) || seeds.length === 0 || !seeds.every(Number.isSafeInteger))
    throw invalidOption('seeds', 'must be a list of at least one integer')
  if (!Number.isSafeInteger(calls) || calls < 1) throw invalidOption('calls', 'must be a positive integer')
  return contract.map((each) => ({
    name: each.name,
    since: each.since ?? '1.0',
    run: () => runCase(each, make, { seeds, calls }),
  }))
}

const exampleFixture = '() => ({ storage, close() {} })'

const contract: readonly ContractCase[] = [
  ...codeCases,
  ...clientCases,
  ...accessCases,
  ...credentialCases,
  ...licenseCases,
  ...idempotencyCases,
  ...listingCases,
  ...domainCases,
  ...useCases,
  ...purgeCases,
  ...valueCases,
  ...wrongRowCases,
  ...copyCases,
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
    // `needs` was checked, so what the case uses is there.
    if (isApplicable) await withOwnRows(() => run(context as Parameters<typeof run>[0]))
  })
  return isApplicable ? 'passed' : 'not applicable'
}

async function withFixture(
  make: () => MaybePromise<StorageFixture>,
  work: (fixture: StorageFixture) => Promise<void>,
): Promise<void> {
  const fixture = await make()
  const isFixture = isOptions(fixture) && isOptions(fixture.storage) && typeof fixture.close === 'function'
  demand(isFixture, `make must return a storage and close(): write storageContract(${exampleFixture}).`)
  try {
    await work(fixture)
  } catch (error) {
    // A connection that the store has leaked makes it fail or wait, which would hide why.
    await inTime(closeTimeoutMs, () => fixture.close(), Error).catch(() => {})
    throw error
  }
  await fixture.close()
}

/** How long to wait for the end of a case that has failed. */
const closeTimeoutMs = 2000

function toContext(
  fixture: StorageFixture,
  history: HistoryOptions,
  fresh: ContractContext['fresh'],
): ContractContext {
  const { storage, second } = fixture
  const admin = isAdminStorage(storage) ? storage : undefined
  const secondAdmin = second && isAdminStorage(second) ? second : undefined
  const apart = fixture.seed ?? secondAdmin
  const seed = apart ?? admin
  return {
    storage: bindStorage(storage),
    second: second && bindStorage(second),
    admin: admin && bindAdmin(admin),
    secondAdmin: secondAdmin && bindAdmin(secondAdmin),
    seed: seed && bindAdmin(seed),
    listing: admin?.listing && bindListing(admin.listing),
    unbound: storage,
    unboundAdmin: admin,
    close: admin?.close?.bind(admin),
    ping: storage.ping && (() => storage.ping?.(enoughTime())),
    recordUse: storage.recordUse && ((kind, ids, at) => storage.recordUse?.(kind, ids, at, enoughTime())),
    disconnect: fixture.disconnect?.bind(fixture),
    // The calls of the suite itself would be cut.
    cutAfter: apart && fixture.cutAfter?.bind(fixture),
    history,
    fresh,
  }
}

function isAdminStorage(storage: UtilityStorage): storage is AdminStorage {
  return 'insertClient' in storage && 'purgeExpired' in storage
}
