import { refused, type Refusal, type UtilityApiError } from '../domain/errors.ts'
import type { MaybePromise } from './maybe-promise.ts'
import type { StorageCall } from './storage-call.ts'
import type { UtilityStorage } from './storage.ts'
import { channels, trace } from './diagnostics.ts'

export const databaseFailed: Refusal = { code: 'database_error', message: 'The database failed.' }

/** The storage as the core calls it: every method is present and limited to the time its caller has left. */
export type TimedStorage = Required<UtilityStorage>

/**
 * Goes on with what storage answered: at once if it did so at once, otherwise when it does. To wait for what is there in
 * an `async` function would cost a fiftieth of a request on Bun.
 */
export function andThen<Value, Result>(
  answer: MaybePromise<Value>,
  next: (value: Value) => Result,
): MaybePromise<Result> {
  return answer instanceof Promise ? answer.then(next) : next(answer)
}

/**
 * Wraps a storage so that it has one error, `database_error`, with the cause inside. The error stands for anything a
 * method throws, and for a method that does not answer while its caller waits. A call that is given up on is not
 * canceled: a write in progress may still commit.
 */
export function timedStorage(storage: UtilityStorage): TimedStorage {
  return {
    findClient: (clientId, call) => timed('findClient', call, () => storage.findClient(clientId, call)),
    findAuthorizationCode: (codeHash, call) =>
      timed('findAuthorizationCode', call, () => storage.findAuthorizationCode(codeHash, call)),
    redeemAuthorizationCode: (codeHash, at, token, call) =>
      timed('redeemAuthorizationCode', call, () =>
        storage.redeemAuthorizationCode(codeHash, at, token, call),
      ),
    revokeAccessTokensOfCode: (codeHash, at, call) =>
      timed('revokeAccessTokensOfCode', call, () => storage.revokeAccessTokensOfCode(codeHash, at, call)),
    findCredential: (kind, hash, call) =>
      timed('findCredential', call, () => storage.findCredential(kind, hash, call)),
    insertLicense: (license, idempotency, call) =>
      timed('insertLicense', call, () => storage.insertLicense(license, idempotency, call)),
    updateLicense: (update, call) => timed('updateLicense', call, () => storage.updateLicense(update, call)),
    findLicense: (licenseKey, call) =>
      timed('findLicense', call, () => storage.findLicense(licenseKey, call)),
    ping: (call) => timed('ping', call, () => storage.ping?.(call)),
  }
}

function timed<Value>(
  method: keyof UtilityStorage,
  call: StorageCall,
  work: () => MaybePromise<Value>,
): MaybePromise<Value> {
  if (channels.storage.hasSubscribers) return trace(channels.storage, { method }, () => bounded(call, work))
  return bounded(call, work)
}

function bounded<Value>(call: StorageCall, work: () => MaybePromise<Value>): MaybePromise<Value> {
  const timeLeftMs = call.timeLeftMs()
  if (timeLeftMs <= 0) throw late()
  try {
    const result = work()
    return isPromise(result) ? within(timeLeftMs, result) : result
  } catch (cause) {
    throw failed(cause)
  }
}

/** Tells whether a result is a promise of any library: those of query builders are often not instances of `Promise`. */
function isPromise<Value>(result: MaybePromise<Value>): result is Promise<Value> {
  return typeof (result as Partial<Promise<Value>> | null | undefined)?.then === 'function'
}

function within<Value>(timeoutMs: number, result: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), timeoutMs)
    result.then(
      (value) => {
        clearTimeout(timer)
        resolve(value)
      },
      (cause: unknown) => {
        clearTimeout(timer)
        reject(failed(cause))
      },
    )
  })
}

function late(): UtilityApiError {
  return failed(new Error('Storage did not answer in the time that its caller had.'))
}

function failed(cause: unknown): UtilityApiError {
  return refused(databaseFailed, { cause })
}
