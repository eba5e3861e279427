import { UtilityApiError } from '../domain/errors.ts'
import type { MaybePromise, UtilityStorage } from '../ports/storage.ts'

/**
 * The same storage with one deadline for every call, and one error: `database_error`, its cause inside.
 *
 * A call that is given up on is not cancelled: a write may still commit.
 */
export function withDeadline(storage: UtilityStorage, timeoutMs: number): Required<UtilityStorage> {
  async function guard<Value>(call: () => MaybePromise<Value>): Promise<Value> {
    try {
      const result = call()
      return result instanceof Promise ? await within(timeoutMs, result) : result
    } catch (cause) {
      throw new UtilityApiError('database_error', 'The database failed.', { cause })
    }
  }

  return {
    findClient: (clientId) => guard(() => storage.findClient(clientId)),
    findAuthorizationCode: (codeHash) => guard(() => storage.findAuthorizationCode(codeHash)),
    redeemAuthorizationCode: (codeHash, at, token) =>
      guard(() => storage.redeemAuthorizationCode(codeHash, at, token)),
    revokeAccessTokensOfCode: (codeHash, at) => guard(() => storage.revokeAccessTokensOfCode(codeHash, at)),
    findCredential: (kind, hash) => guard(() => storage.findCredential(kind, hash)),
    insertLicense: (license, idempotency) => guard(() => storage.insertLicense(license, idempotency)),
    updateLicense: (update) => guard(() => storage.updateLicense(update)),
    ping: () => guard(() => storage.ping?.()),
  }
}

function within<Value>(timeoutMs: number, result: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`Storage did not answer within ${timeoutMs} ms.`)),
      timeoutMs,
    )
    result.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
