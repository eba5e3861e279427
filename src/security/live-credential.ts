import { howEnded, isLive, type Credential, type CredentialKind } from '../domain/credentials.ts'
import { andThen, type MaybePromise } from '../domain/maybe-promise.ts'
import { hashSecret, isMistyped, kindOfSecret } from '../domain/secret.ts'
import type { StorageCall } from '../ports/storage-call.ts'
import type { CredentialParts } from './scheme.ts'

/**
 * Returns the credential that a secret stands for, and notes that it was used. If there is none, or it has ended,
 * throws what `refuse` makes of the reason. The reason is for the log, because the sender is told the same in all
 * cases.
 */
export function liveCredential(
  { storage, clock, uses }: CredentialParts,
  kind: CredentialKind,
  secret: string,
  call: StorageCall,
  refuse: (reason: string) => Error,
): MaybePromise<Credential> {
  const noun = kind === 'api_key' ? 'key' : 'token'
  if (isMistyped(secret)) throw refuse(`The checksum of the ${noun} is wrong: it was changed or mistyped.`)
  return andThen(storage.findCredential(kind, hashSecret(secret), call), (credential) => {
    if (credential === null)
      throw refuse(wrongKind(kind, secret) ?? `There is no such ${noun} in this storage.`)
    const now = clock.now()
    if (!isLive(credential, now)) throw refuse(`The ${noun} ${howEnded(credential)}.`)
    if (kind !== 'access_token') uses?.note(kind, credential.id, now)
    return credential
  })
}

/** Says which kind of secret this is, or that it is a whole header, where it cannot be one of the kind needed. */
function wrongKind(needed: CredentialKind, secret: string): string | undefined {
  if (needed !== 'api_key' && /^bearer /i.test(secret))
    return 'This is the whole header: pass what bearerToken() returns for it.'
  const kind = kindOfSecret(secret)
  if (kind === undefined || kind === needed) return undefined
  return `The credential is of the kind ${kind}; ${needed} is needed.`
}
