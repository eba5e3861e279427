import { grants, isLive, type Credential } from '../domain/access.ts'
import { UtilityApiError } from '../domain/errors.ts'
import type { CredentialSecurity, Security } from '../operations/operation.ts'
import type { RequestLike } from './messages.ts'

const realm = 'utility-api'
/** RFC 6750 section 2.1: scheme, spaces, token68, nothing after. A repeated header has a comma and fails here. */
const bearer = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i
/** Visible ASCII without the comma that joins repeated headers. */
const apiKey = /^[\x21-\x2b\x2d-\x7e]+$/
/** RFC 7617: base64 with its padding. `Buffer` would decode almost anything. */
const basic = /^basic +((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/i

/** The secret a caller presents. Throws `invalid_token` or `invalid_api_key` when it is missing or malformed. */
export function presentedSecret(security: CredentialSecurity, request: RequestLike): string {
  if (security.kind === 'api_key') {
    const key = request.header('Basic')
    if (key === null || key === '') throw new UtilityApiError('invalid_api_key', 'The API key is missing.')
    if (!apiKey.test(key)) throw invalidCredential(security)
    return key
  }
  const authorization = request.header('Authorization')
  if (authorization === null || authorization === '') {
    throw new UtilityApiError('invalid_token', 'The bearer token is missing.')
  }
  const token = bearer.exec(authorization)?.[1]
  if (token === undefined) throw invalidCredential(security)
  return token
}

/** A credential as found in storage, if it is live and permits the operation. */
export function accepted(
  credential: Credential | null,
  security: CredentialSecurity,
  now: number,
): Credential {
  if (credential === null || !isLive(credential, now)) throw invalidCredential(security)
  if (security.permission === undefined || grants(credential.scope, security.permission)) return credential
  // The contract answers a key without permission like an invalid one.
  if (security.kind === 'api_key')
    throw new UtilityApiError('invalid_api_key', 'The API key lacks the permission.')
  throw new UtilityApiError('insufficient_scope', `The access token lacks the scope ${security.permission}.`)
}

function invalidCredential({ kind }: CredentialSecurity): UtilityApiError {
  return kind === 'api_key'
    ? new UtilityApiError('invalid_api_key', 'The API key is invalid.')
    : new UtilityApiError('invalid_token', 'The bearer token is invalid, expired or revoked.')
}

/** Client credentials from an `Authorization` header; null when there is none. */
export interface PresentedClient {
  readonly clientId: string
  readonly clientSecret: string
}

/**
 * Reads HTTP Basic client authentication.
 *
 * @throws `invalid_client` when the header is there but is no Basic credential.
 * @see RFC 6749 section 2.3.1 and appendix B: both halves are form-encoded
 */
export function presentedClient(request: RequestLike): PresentedClient | null {
  const authorization = request.header('Authorization')
  if (authorization === null) return null
  const encoded = basic.exec(authorization)?.[1] ?? ''
  const [clientId, clientSecret] = splitOnce(Buffer.from(encoded, 'base64').toString('utf8'), ':').map(
    formDecode,
  )
  if (!clientId || !clientSecret)
    throw new UtilityApiError('invalid_client', 'The Authorization header is malformed.')
  return { clientId, clientSecret }
}

function splitOnce(text: string, separator: string): string[] {
  const index = text.indexOf(separator)
  return index < 0 ? [text] : [text.slice(0, index), text.slice(index + 1)]
}

function formDecode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return ''
  }
}

/**
 * The `WWW-Authenticate` header of a refusal, null for none.
 *
 * The token endpoint challenges only a client that used `Authorization`: OAuth libraries that see a challenge they did
 * not ask for report it instead of the error.
 *
 * @see RFC 6749 section 5.2, RFC 6750 section 3
 */
export function challengeOf(error: UtilityApiError, security: Security, request: RequestLike): string | null {
  if (error.status !== 401 && error.status !== 403) return null
  if (security.kind === 'client')
    return request.header('Authorization') === null ? null : `Basic realm="${realm}"`
  // Not `Basic`, although the header is called that: browsers would ask their user for a password.
  if (security.kind === 'api_key') return `ApiKey realm="${realm}", header="Basic"`
  if (error.status === 403)
    return `Bearer realm="${realm}", error="insufficient_scope", scope="${security.permission}"`
  return request.header('Authorization') === null
    ? `Bearer realm="${realm}"`
    : `Bearer realm="${realm}", error="invalid_token"`
}
