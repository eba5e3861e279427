import { permits, type Credential } from '../domain/credentials.ts'
import { refusal, refused, type Refusal, type UtilityApiError } from '../domain/errors.ts'
import type { StorageCall } from '../ports/storage-call.ts'
import type { MaybePromise } from '../domain/maybe-promise.ts'
import { liveCredential } from './live-credential.ts'
import { realm, type CredentialParts, type Presented, type Scheme } from './scheme.ts'

/** Visible ASCII without the comma, which joins repeated headers, with or without a space (RFC 9110 section 5.3). */
const grammar = /^[\x21-\x2b\x2d-\x7e]+$/

// Not `Basic`, although the header is called that, because browsers would ask their user for a password.
const challenge = `ApiKey realm="${realm}", header="Basic"`

const missing = refusal('invalid_api_key', 'The API key is missing.')
const invalid = refusal('invalid_api_key', 'The API key is invalid.')
/** The contract treats a key without the permission like an invalid one. */
const lacking = refusal('invalid_api_key', 'The API key lacks the permission.')

/** Returns the credential of an API key that is live. */
export function verifyApiKey(
  parts: CredentialParts,
  apiKey: string | undefined,
  call: StorageCall,
): MaybePromise<Credential> {
  if (apiKey === undefined) throw refusedKey(missing)
  return liveCredential(parts, 'api_key', apiKey, call, (reason) => refusedKey(invalid, reason))
}

/** Throws unless the credential has all of the permissions. */
export function requirePermission({ scope }: Credential, permission: string | undefined): void {
  if (permission !== undefined && !permits(scope, permission)) throw refusedKey(lacking)
}

/**
 * Creates the scheme for API keys in the contract's header `Basic`.
 *
 * @see docs/contract.md section 4.5
 */
export function apiKeyScheme(parts: CredentialParts): Scheme<Credential> {
  return {
    name: 'api_key',
    parameters: [],
    refusals: (permission) => [missing, invalid, ...(permission === undefined ? [] : [lacking])],
    authenticate: (presented) => verifyApiKey(parts, presentedKey(presented), presented),
    callerId: ({ ownerId }) => ownerId,
    requirePermission,
    challenge,
    openapi: {
      scheme: { type: 'apiKey', in: 'header', name: 'Basic', description: 'An API key.' },
      codes: 'A stable code.',
      challenge: { description: 'How to authenticate.', example: challenge },
    },
  }
}

function presentedKey(presented: Presented): string | undefined {
  const header = presented.header('Basic')
  if (header === null || header === '') {
    if (presented.header('Authorization') === null) return undefined
    throw refusedKey(missing, 'The key belongs in a header called Basic, not into Authorization.')
  }
  if (!grammar.test(header))
    throw refusedKey(invalid, 'The header has a space, a comma or another character that no key has.')
  return header
}

/** @param cause - Why, for the log: the sender is told no more than the refusal says. */
function refusedKey(why: Refusal, cause?: string): UtilityApiError {
  return refused(why, { headers: { 'WWW-Authenticate': challenge }, cause })
}
