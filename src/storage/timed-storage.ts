import { inTime } from '../bounds/in-time.ts'
import { refusal, refused, type Refusal, type UtilityApiError } from '../domain/errors.ts'
import { insertOutcomes, updateOutcomes } from '../domain/license.ts'
import { isPromise, type MaybePromise } from '../domain/maybe-promise.ts'
import type { StorageCall } from '../ports/storage-call.ts'
import type { UtilityStorage } from '../ports/storage.ts'
import { channels, trace } from '../ports/diagnostics.ts'

export const databaseFailed: Refusal = refusal('database_error', 'The database failed.')

/** The storage as the core calls it. Every method is present and limited to the time its caller has left. */
export type TimedStorage = Required<UtilityStorage>

/**
 * Wraps a storage so that it has one error, `database_error`, with the cause inside. The error stands for anything a
 * method throws, and for a method that does not answer while its caller waits. A call that is given up on is not
 * canceled, so a write in progress may still commit.
 */
export function timedStorage(storage: UtilityStorage): TimedStorage {
  return {
    findClient: (clientId, call) => timed('findClient', call, (own) => storage.findClient(clientId, own)),
    findAuthorizationCode: (codeHash, call) =>
      timed('findAuthorizationCode', call, (own) => storage.findAuthorizationCode(codeHash, own)),
    redeemAuthorizationCode: (codeHash, at, token, call) =>
      timed('redeemAuthorizationCode', call, (own) =>
        storage.redeemAuthorizationCode(codeHash, at, token, own),
      ),
    revokeAccessTokensOfCode: (codeHash, at, call) =>
      timed('revokeAccessTokensOfCode', call, (own) => storage.revokeAccessTokensOfCode(codeHash, at, own)),
    findCredential: (kind, hash, call) =>
      timed('findCredential', call, (own) => storage.findCredential(kind, hash, own)),
    insertLicense: (license, idempotency, call) =>
      timed('insertLicense', call, (own) => storage.insertLicense(license, idempotency, own)),
    updateLicense: (update, call) =>
      timed('updateLicense', call, (own) => storage.updateLicense(update, own)),
    findLicense: (licenseKey, call) =>
      timed('findLicense', call, (own) => storage.findLicense(licenseKey, own)),
    recordUse: (kind, ids, at, call) =>
      timed('recordUse', call, (own) => storage.recordUse?.(kind, ids, at, own)),
    ping: (call) => timed('ping', call, (own) => storage.ping?.(own)),
  }
}

type Method = keyof UtilityStorage

const isRowOrNull = (answer: unknown): boolean => typeof answer === 'object'

/** What each method may answer. Anything else, such as a driver's own result, would be taken for success. */
const isAnswer: Readonly<Record<Method, (answer: unknown) => boolean>> = {
  findClient: isRowOrNull,
  findAuthorizationCode: isRowOrNull,
  redeemAuthorizationCode: (answer) => typeof answer === 'boolean',
  revokeAccessTokensOfCode: (answer) => typeof answer === 'number',
  findCredential: isRowOrNull,
  insertLicense: (answer) => isOneOf(insertOutcomes, answer) || isReplay(answer),
  updateLicense: (answer) => isOneOf(updateOutcomes, answer),
  findLicense: isRowOrNull,
  recordUse: () => true,
  ping: (answer) => answer !== false,
}

function isOneOf(outcomes: readonly unknown[], answer: unknown): boolean {
  return outcomes.includes(answer)
}

function isReplay(answer: unknown): boolean {
  const { replay, requestHash } = (answer ?? {}) as { replay?: unknown; requestHash?: unknown }
  return typeof replay === 'string' && requestHash instanceof Uint8Array
}

type Work<Value> = (call: StorageCall) => MaybePromise<Value>

function timed<Value>(method: Method, call: StorageCall, work: Work<Value>): MaybePromise<Value> {
  if (channels.storage.hasSubscribers)
    return trace(channels.storage, { method }, () => bounded(method, call, work))
  return bounded(method, call, work)
}

function bounded<Value>(method: Method, call: StorageCall, work: Work<Value>): MaybePromise<Value> {
  const timeLeftMs = call.timeLeftMs()
  try {
    if (timeLeftMs <= 0) throw notInTime()
    // An object of its own: the caller's may have more in it, which is not for a store to see.
    const result = work({ timeLeftMs: () => call.timeLeftMs() })
    return isPromise(result) ? within(timeLeftMs, result, method) : checked(method, result)
  } catch (cause) {
    throw failed(cause)
  }
}

async function within<Value>(timeoutMs: number, result: Promise<Value>, method: Method): Promise<Value> {
  try {
    return checked(method, await inTime(timeoutMs, () => result, notInTime))
  } catch (cause) {
    throw failed(cause)
  }
}

function checked<Value>(method: Method, answer: Value): Value {
  if (isAnswer[method](answer)) return answer
  throw new TypeError(`The storage's ${method} returned what it must not: ${typeof answer}.`)
}

function notInTime(): Error {
  return new Error('Storage did not answer in the time that its caller had.')
}

function failed(cause: unknown): UtilityApiError {
  return refused(databaseFailed, { cause })
}
