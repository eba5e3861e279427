import { deepStrictEqual, rejects } from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import type {
  AuthorizationCode,
  Client,
  Credential,
  NewAccessToken,
  Reseller,
} from '../../domain/credentials.ts'
import type { License } from '../../domain/license.ts'
import type { MaybePromise } from '../../domain/maybe-promise.ts'
import {
  StorageError,
  type AdminStorage,
  type NewIdempotencyKey,
  type StorageErrorKind,
  type UtilityStorage,
} from '../../ports/storage.ts'
import { setImmediate, setTimeout } from '../../ports/timers.ts'
import type { BoundAdmin, BoundListing, BoundStorage, RecordUse } from './bound.ts'

/** What a case works with. What may be undefined is there only if the fixture has it. */
export interface ContractContext {
  readonly storage: BoundStorage
  readonly second: BoundStorage | undefined
  readonly admin: BoundAdmin | undefined
  /** Another instance that can provision. */
  readonly secondAdmin: BoundAdmin | undefined
  readonly seed: BoundAdmin | undefined
  readonly listing: BoundListing | undefined
  /** The stores themselves, for cases that say how long they wait. */
  readonly unbound: UtilityStorage
  readonly unboundAdmin: AdminStorage | undefined
  readonly close: (() => MaybePromise<void>) | undefined
  readonly ping: (() => MaybePromise<void>) | undefined
  readonly recordUse: RecordUse | undefined
  readonly disconnect: (() => MaybePromise<void>) | undefined
  readonly cutAfter: ((replies: number) => MaybePromise<void>) | undefined
  /** Which random histories to run. */
  readonly history: HistoryOptions
  /** Does work with another empty store. */
  readonly fresh: (work: (context: ContractContext) => Promise<void>) => Promise<void>
}

export interface HistoryOptions {
  readonly seeds: readonly number[]
  readonly calls: number
}

type Present<Context> = { readonly [Key in keyof Context]-?: NonNullable<Context[Key]> }

export interface ContractCase {
  readonly name: string
  /** The version that it came with. Default: 1.0. */
  readonly since?: string
  readonly needs?: readonly (keyof ContractContext)[]
  run(context: Present<ContractContext>): Promise<void>
}

/** Returns the cases of a race in one instance, and between two. */
export function racing(
  run: (admin: BoundAdmin, other: BoundStorage) => Promise<void>,
  inOne: string,
  betweenTwo: string,
): ContractCase[] {
  return [
    { name: inOne, needs: ['admin'], run: ({ admin }) => run(admin, admin) },
    { name: betweenTwo, needs: ['admin', 'second'], run: ({ admin, second }) => run(admin, second) },
  ]
}

const salts = new AsyncLocalStorage<Uint8Array>()

/**
 * Runs a case with its own rows, whose hashes and names differ from run to run and are in no order. Rows deleted
 * earlier under the same keys would hide how a store locks.
 */
export function withOwnRows<Result>(run: () => Promise<Result>): Promise<Result> {
  return salts.run(randomBytes(20), run)
}

function salt(): Uint8Array {
  return salts.getStore() ?? new Uint8Array(20)
}

/**
 * Returns a hash with a 00 and an FF byte, which cut or break it if it is treated as text. As in a pool of buffers, it is
 * part of a larger one, with other bytes around it each time.
 */
export function hashOf(number: number): Uint8Array {
  const bytes = Uint8Array.from(randomBytes(48)).subarray(8, 40).fill(0)
  const view = new DataView(bytes.buffer, bytes.byteOffset)
  // Multiplied by an odd number, so that neighbors lie far apart and no two are equal.
  view.setUint32(
    0,
    Math.imul(number + 1, 0x9e3779b1) ^ new DataView(salt().buffer, salt().byteOffset).getUint32(0),
  )
  bytes.set([0x00, 0xff, 0x27, 0x80], 4)
  bytes.set(salt().subarray(0, 20), 8)
  return bytes
}

/** Returns a name unique to this run, and always the same for the same text. */
export function nameOf(text: string): string {
  return `${text}-${Buffer.from(salt().subarray(0, 4)).toString('hex')}`
}

export function makeClient(fields: Partial<Client> = {}): Client {
  return {
    clientId: nameOf('client'),
    secretHashes: [hashOf(1)],
    redirectUris: ['https://app.example/callback'],
    createdAt: 1000,
    revokedAt: null,
    ...fields,
  }
}

export function makeReseller(fields: Partial<Reseller> = {}): Reseller {
  return { resellerId: nameOf('reseller'), createdAt: 1000, ...fields }
}

export function makeCode(fields: Partial<AuthorizationCode> = {}): AuthorizationCode {
  return {
    clientId: nameOf('client'),
    subject: null,
    redirectUri: 'https://app.example/callback',
    scope: 'dns:check blockgame:lookup',
    codeChallenge: null,
    expiresAt: 60_000,
    redeemedAt: null,
    ...fields,
  }
}

export function makeToken(number: number, fields: Partial<NewAccessToken> = {}): NewAccessToken {
  return {
    id: nameOf(`token-${number}`),
    hash: hashOf(number),
    ownerId: nameOf('client'),
    subject: null,
    scope: 'dns:check blockgame:lookup',
    createdAt: 5,
    expiresAt: 3_600_000,
    ...fields,
  }
}

export function makeCredential(id: string, fields: Partial<Credential> = {}): Credential {
  const owner = { ownerId: nameOf('reseller'), subject: null }
  return { id, ...owner, scope: '', createdAt: 1000, expiresAt: null, revokedAt: null, ...fields }
}

export function makeLicense(licenseKey: string, fields: Partial<License> = {}): License {
  return {
    licenseKey,
    registeredTo: 'Ada',
    domainOrIp: 'example.com',
    status: 'valid',
    resellerId: nameOf('reseller'),
    createdAt: 1000,
    updatedAt: 1000,
    reference: null,
    expiresAt: null,
    ...fields,
  }
}

export function makeIdempotencyKey(fields: Partial<NewIdempotencyKey> = {}): NewIdempotencyKey {
  const hashes = { keyHash: hashOf(1), requestHash: hashOf(2) }
  return { resellerId: nameOf('reseller'), ...hashes, at: 1000, expiresAt: 9000, ...fields }
}

/** Returns a patch with members that are undefined, as TypeScript lets callers write it by default. */
export function loosePatch<Patch>(fields: {
  readonly [Field in keyof Patch]: Patch[Field] | undefined
}): Patch {
  return fields as Patch
}

/** Makes all calls at once. */
export function race<Result>(
  count: number,
  call: (index: number) => MaybePromise<Result>,
): Promise<Result[]> {
  return Promise.all(Array.from({ length: count }, async (_, index) => call(index)))
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve))
}

function nextMillisecond(): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, 1))
}

/** Makes half of the calls at once, and each of the others one turn of the event loop after the one before. */
export function raceOverTurns<Result>(
  count: number,
  call: (index: number) => MaybePromise<Result>,
): Promise<Result[]> {
  return race(count, async (index) => {
    // oxlint-disable-next-line no-await-in-loop -- one turn after the other
    for (let turn = count / 2; turn <= index; turn += 1) await nextTurn()
    return call(index)
  })
}

/**
 * Makes calls and a longer one: all at once, with the longer one at a place among them, or while it runs, one in two as
 * soon as it can and the others a millisecond apart. Calls that are made at once are over before a longer one that first
 * waits for a connection has read anything.
 */
export async function raceBeside<Result>(
  longer: () => MaybePromise<unknown>,
  place: number | 'while it runs',
  count: number,
  call: (index: number) => MaybePromise<Result>,
): Promise<Result[]> {
  if (place !== 'while it runs') {
    const made = await race<unknown>(count + 1, (index) =>
      index === place ? longer() : call(index > place ? index - 1 : index),
    )
    return made.toSpliced(place, 1) as Result[]
  }
  const results: Result[] = []
  let isOver = false
  async function runLonger(): Promise<void> {
    await longer()
    isOver = true
  }
  async function runOthers(first: number): Promise<void> {
    for (let index = first; index < count; index += 2) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other is the point
      if (!isOver) await (first === 0 ? nextTurn() : nextMillisecond())
      // oxlint-disable-next-line no-await-in-loop -- as above
      results[index] = await call(index)
    }
  }
  await Promise.all([runLonger(), runOthers(0), runOthers(1)])
  return results
}

/**
 * Makes many calls, a hundred at once, to fill a store. All at once, the last would wait for all others, and its time
 * would run out where each takes some milliseconds.
 */
export async function fill(count: number, call: (index: number) => MaybePromise<unknown>): Promise<void> {
  for (let made = 0; made < count; made += 100)
    // oxlint-disable-next-line no-await-in-loop -- one hundred after the other is the point
    await race(Math.min(100, count - made), (index) => call(made + index))
}

/** Makes the calls one after the other. */
export async function inTurn<Item>(
  items: Iterable<Item>,
  call: (item: Item) => MaybePromise<unknown>,
): Promise<void> {
  // oxlint-disable-next-line no-await-in-loop -- one after the other is the point
  for (const item of items) await call(item)
}

export function countOf<Value>(values: readonly Value[], wanted: Value): number {
  return values.filter((value) => value === wanted).length
}

/** Expects the same members with the same values. Rows of `node:sqlite` have no prototype, and bytes may be a `Buffer`. */
export function equalValues(actual: unknown, expected: unknown, message?: string): void {
  deepStrictEqual(plain(actual), plain(expected), message)
}

/** Returns plain objects with plain bytes for any others. */
function plain(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Uint8Array) return Uint8Array.from(value)
  if (Array.isArray(value)) return value.map(plain)
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]))
}

/** Returns the answer of a call, or null if it is refused with this kind. */
export async function orRefused<Result>(
  kind: StorageErrorKind,
  call: () => MaybePromise<Result>,
): Promise<Result | null> {
  try {
    return await call()
  } catch (error) {
    await rejectsAs(kind, () => Promise.reject(error), 'a call that may be refused')
    return null
  }
}

/** Expects a `StorageError` of this kind, thrown or rejected. */
export async function rejectsAs(
  kind: StorageErrorKind,
  call: () => MaybePromise<unknown>,
  message: string,
): Promise<void> {
  const expected = `${message}: expected a StorageError of kind '${kind}'`
  await rejects(
    async () => call(),
    (error: unknown) => {
      if (error instanceof StorageError && error.kind === kind) return true
      // Two installed copies have a class each, of the same name.
      const other = `${String(error)} (no StorageError of this copy of utility-api)`
      const got = error instanceof StorageError ? `of kind '${error.kind}': ${error.message}` : other
      throw new Error(`${expected}, not ${got}`, { cause: error })
    },
    expected,
  )
}
