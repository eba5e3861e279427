import { UtilityApiError } from '../domain/errors.ts'
import type { MaybePromise, UtilityStorage } from '../ports/storage.ts'
import { trace } from './tracing.ts'

/**
 * The same storage with one deadline for every call, and one error: `database_error`, its cause inside.
 *
 * A call that is given up on is not cancelled: a write may still commit.
 */
export function withDeadline(storage: UtilityStorage, timeoutMs: number): Required<UtilityStorage> {
  function guard<Value>(method: keyof UtilityStorage, call: () => MaybePromise<Value>): MaybePromise<Value> {
    return trace(
      'storage',
      () => ({ method }),
      () => bounded(call),
    )
  }

  function bounded<Value>(call: () => MaybePromise<Value>): MaybePromise<Value> {
    try {
      const result = call()
      return result instanceof Promise ? within(timeoutMs, result) : result
    } catch (cause) {
      throw failed(cause)
    }
  }

  return {
    findClient: (clientId) => guard('findClient', () => storage.findClient(clientId)),
    findAuthorizationCode: (codeHash) =>
      guard('findAuthorizationCode', () => storage.findAuthorizationCode(codeHash)),
    redeemAuthorizationCode: (codeHash, at, token) =>
      guard('redeemAuthorizationCode', () => storage.redeemAuthorizationCode(codeHash, at, token)),
    revokeAccessTokensOfCode: (codeHash, at) =>
      guard('revokeAccessTokensOfCode', () => storage.revokeAccessTokensOfCode(codeHash, at)),
    findCredential: (kind, hash) => guard('findCredential', () => storage.findCredential(kind, hash)),
    insertLicense: (license, idempotency) =>
      guard('insertLicense', () => storage.insertLicense(license, idempotency)),
    updateLicense: (update) => guard('updateLicense', () => storage.updateLicense(update)),
    ping: () => guard('ping', () => storage.ping?.()),
  }
}

function within<Value>(timeoutMs: number, result: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(failed(new Error(`Storage did not answer within ${timeoutMs} ms.`))),
      timeoutMs,
    )
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

function failed(cause: unknown): UtilityApiError {
  return new UtilityApiError('database_error', 'The database failed.', { cause })
}
