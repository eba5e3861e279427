import { demand, invalidOption, requireOptions } from '../domain/arguments.ts'
import type { Writable } from '../domain/writable.ts'
import type { MaybePromise } from '../domain/maybe-promise.ts'
import type { StorageCall } from '../ports/storage-call.ts'
import { StorageError, type AdminStorage, type UtilityStorage } from '../ports/storage.ts'
import type { StorageListing } from '../ports/storage-listing.ts'
import { setTimeout } from '../ports/timers.ts'
import { createRandom } from './contract/random.ts'
import { keepLast } from './keep-last.ts'

/**
 * The options of {@link faultyStorage}.
 *
 * @group Testing
 */
export interface FaultyStorageOptions {
  /** Any integer. The same seed gives the same faults to the same calls in the same order. */
  readonly seed: number
  /** The share of the calls that get a fault, from 0 to 1. Default: 0.2. */
  readonly rate?: number
}

/**
 * A fault of {@link faultyStorage}, as its caller sees it:
 *
 * - `refused`: a `StorageError` at once, and nothing was done.
 * - `late`: an answer after the deadline. The call was done or not. The log says which.
 * - `failed`: a `StorageError` although the call was done, as if the connection was lost before the answer came.
 *
 * @group Testing
 */
export type StorageFault = 'refused' | 'late' | 'failed'

/**
 * A call in the log of {@link faultyStorage}.
 *
 * @group Testing
 */
export interface FaultyStorageCall {
  /** The method, such as `insertLicense`, or `listing.licenses` for a list. */
  readonly method: string
  /** What the caller got instead of an answer; null for a call without a fault. */
  readonly fault: StorageFault | null
  /** Whether the storage was asked, whatever the caller was told. */
  readonly done: boolean
  /** What the storage answered or threw, once it has; undefined before that and if it was not asked. */
  readonly outcome: FaultyStorageOutcome | undefined
}

/**
 * What the storage behind {@link faultyStorage} answered or threw.
 *
 * @group Testing
 */
export type FaultyStorageOutcome = { readonly answer: unknown } | { readonly error: unknown }

/**
 * What {@link faultyStorage} adds to a storage.
 *
 * @group Testing
 */
export interface FaultyStorageLog {
  /** What really happened, oldest first: the last 1,000 calls. */
  readonly log: readonly FaultyStorageCall[]
}

/** The methods that get faults. A method that is not here, such as `close` or `migrate`, is passed on. */
const methods: Readonly<Record<Exclude<keyof AdminStorage, 'close' | 'listing'>, true>> = {
  findClient: true,
  findAuthorizationCode: true,
  redeemAuthorizationCode: true,
  revokeAccessTokensOfCode: true,
  findCredential: true,
  insertLicense: true,
  updateLicense: true,
  findLicense: true,
  recordUse: true,
  ping: true,
  insertClient: true,
  updateClient: true,
  rotateClientSecret: true,
  revokeClient: true,
  insertAuthorizationCode: true,
  insertReseller: true,
  findReseller: true,
  insertCredential: true,
  revokeCredential: true,
  revokeAccess: true,
  changeLicense: true,
  deleteLicense: true,
  purgeExpired: true,
}
const lists: Readonly<Record<keyof StorageListing, true>> = {
  clients: true,
  resellers: true,
  credentials: true,
  licenses: true,
  countLicenses: true,
}

type Method = (...args: readonly unknown[]) => MaybePromise<unknown>

/**
 * Wraps a storage so that some of its calls fail the way databases and networks do, for tests of your own code: it
 * refuses, it answers after the deadline, and it does the call and then reports failure. A seed decides which call gets
 * which fault, so that a run that fails can be repeated.
 *
 * Provision through the storage itself, and give the faulty one to `createUtilityApi`. A late answer takes as long as
 * its caller waits, so with a `storageTimeoutMs` of a few milliseconds, thousands of seeds take seconds.
 *
 * @param storage - The storage to wrap. It is used, not copied.
 *
 * @returns The same storage with faults, and with a log of what really happened. `close` and methods that are not part
 * of the port, such as `migrate`, are passed on.
 *
 * @example
 * ```ts
 * import { memoryStorage } from 'utility-api/storage/memory'
 * import { faultyStorage } from 'utility-api/testing'
 *
 * const faulty = faultyStorage(memoryStorage(), { seed: 7 })
 * const api = createUtilityApi({ storage: faulty, storageTimeoutMs: 5 })
 * console.log(faulty.log)
 * ```
 *
 * @throws `UtilityApiError` `invalid_options` if an option is missing, invalid or unknown; `invalid_argument` if it is given
 * no storage
 *
 * @group Testing
 */
export function faultyStorage<Storage extends UtilityStorage>(
  storage: Storage,
  options: FaultyStorageOptions,
): Storage & FaultyStorageLog {
  requireOptions(options, ['seed', 'rate'])
  const { seed, rate = 0.2 } = options
  if (!Number.isSafeInteger(seed)) throw invalidOption('seed', 'must be an integer')
  if (typeof rate !== 'number' || !(rate >= 0 && rate <= 1))
    throw invalidOption('rate', 'must be a number from 0 to 1')
  const isStorage = typeof (storage as Partial<UtilityStorage> | null)?.findClient === 'function'
  demand(isStorage, 'storage must be a storage: write faultyStorage(memoryStorage(), { seed }).')
  const random = createRandom(seed)
  const log: FaultyStorageCall[] = []

  function draw(): { fault: StorageFault | null; done: boolean } {
    if (random.integer(1_000_000) >= rate * 1_000_000) return { fault: null, done: true }
    const fault = random.pick(['refused', 'late', 'failed'] as const)
    return { fault, done: fault === 'failed' || (fault === 'late' && random.chance(50)) }
  }

  function withFaults(owner: object, method: Method, name: string): Method {
    return (...args) => {
      const { fault, done } = draw()
      const call: Writable<FaultyStorageCall> = {
        method: name,
        fault,
        done,
        outcome: undefined,
      }
      keepLast(log, call)
      const ask = (): MaybePromise<unknown> => Reflect.apply(method, owner, args)
      return fault === null
        ? recorded(call, ask)
        : withFault(fault, args.at(-1) as StorageCall, done ? () => recorded(call, ask) : undefined)
    }
  }

  /**
   * Replaces the methods where they are read, because those of classes need their own `this`, and the owner may be
   * frozen.
   */
  function wrapped<Owner extends object>(owner: Owner, names: object, prefix: string, more: object): Owner {
    return new Proxy(Object.create(owner) as Owner, {
      get(_, name) {
        if (Object.hasOwn(more, name)) return Reflect.get(more, name) as unknown
        const member: unknown = Reflect.get(owner, name)
        if (typeof member !== 'function') return member
        if (typeof name === 'string' && Object.hasOwn(names, name))
          return withFaults(owner, member as Method, `${prefix}${name}`)
        return member.bind(owner) as unknown
      },
    })
  }

  const { listing } = storage as Partial<AdminStorage>
  const more = { log, ...(listing !== undefined && { listing: wrapped(listing, lists, 'listing.', {}) }) }
  return wrapped(storage, methods, '', more) as Storage & FaultyStorageLog
}

/** Asks the storage, and notes what it says. */
function recorded(
  call: { outcome: FaultyStorageOutcome | undefined },
  ask: () => MaybePromise<unknown>,
): MaybePromise<unknown> {
  const failed = (error: unknown): never => {
    call.outcome = { error }
    throw error
  }
  const answered = (answer: unknown): unknown => {
    call.outcome = { answer }
    return answer
  }
  let answer: MaybePromise<unknown>
  try {
    answer = ask()
  } catch (error) {
    return failed(error)
  }
  return typeof (answer as Partial<Promise<unknown>> | null | undefined)?.then === 'function'
    ? (answer as Promise<unknown>).then(answered, failed)
    : answered(answer)
}

async function withFault(
  fault: StorageFault,
  call: StorageCall,
  ask: (() => MaybePromise<unknown>) | undefined,
): Promise<unknown> {
  const answer = await ask?.()
  if (fault === 'late') {
    await deadlineOf(call)
    if (ask !== undefined) return answer
  }
  const message = fault === 'failed' ? 'The connection was lost.' : 'The database is not available.'
  throw new StorageError('unavailable', message, { retryable: fault !== 'failed' })
}

/** Resolves when nobody waits any more. */
async function deadlineOf(call: StorageCall): Promise<void> {
  const leftMs = call.timeLeftMs()
  // Where somebody waits forever, nothing can come late.
  if (leftMs <= 0 || leftMs === Number.POSITIVE_INFINITY) return
  await new Promise((resolve) => setTimeout(resolve, leftMs))
  await deadlineOf(call)
}
