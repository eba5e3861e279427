import { isScope, needsChallenge, permits, type Client } from '../domain/credentials.ts'
import { isChallenge, uniqueNames } from './checks.ts'
import { isRedirectUri, isRegistered } from './redirect-uri.ts'

/**
 * A checked authorization request, which your page shows to the user and later grants or denies.
 *
 * It is plain data and may be kept in a session until the user has answered, but not in the form itself, where the user
 * could change it.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc6749#section-4.1.1 | RFC 6749 section 4.1.1}
 *
 * @group Provisioning
 */
export interface AuthorizationRequest {
  /** Show your page. */
  readonly kind: 'ask'
  /** The client that makes the request. */
  readonly clientId: string
  /** The client's label, if it has one. */
  readonly clientName?: string
  /** Where the answer goes: one of the client's registered redirection URIs. */
  readonly redirectUri: string
  /** The scope it asks for: names separated by spaces, `''` for none. */
  readonly scope: string
  /** The client's own text, returned unchanged; null if none was sent. */
  readonly state: string | null
  /** The PKCE challenge, method S256; null if none was sent. */
  readonly codeChallenge: string | null
}

/**
 * The result of reading an authorization request.
 *
 * - `ask`: show your page.
 * - `redirect`: send the user to `location`, which tells the client its mistake.
 * - `refuse`: show `reason` on your own page, and do not send the user anywhere.
 *
 * @group Provisioning
 */
export type AuthorizationRequestOutcome =
  | AuthorizationRequest
  | { readonly kind: 'redirect'; readonly location: string }
  | { readonly kind: 'refuse'; readonly reason: string }

/** Where an answer goes, and the client's own text to return. */
type ReturnAddress = Pick<AuthorizationRequest, 'redirectUri' | 'state'>

/** What the owner allows, and who the owner is. */
export interface AuthorizationRules {
  /** The names that clients may ask for. */
  readonly scopes: readonly string[]
  /** What a request that names no scope asks for. */
  readonly defaultScope: string
  readonly issuer: string | undefined
}

/**
 * Checks an authorization request. Until the client and the redirection URI are known to belong together, nobody is
 * sent anywhere, because that would be an open redirector.
 *
 * @see RFC 6749 sections 4.1.1 and 4.1.2.1, RFC 7636 section 4.4.1, RFC 9700 sections 2.1 and 4.11.2
 */
export async function judgeRequest(
  query: URLSearchParams,
  rules: AuthorizationRules,
  findClient: (clientId: string) => Promise<Client | null>,
): Promise<AuthorizationRequestOutcome> {
  const clientId = single(query, 'client_id')
  const client = clientId === undefined ? null : await findClient(clientId)
  if (client === null || client.revokedAt !== null) return refuse('The client is not known.')
  // The only registered URI does not stand in for it, because the token endpoint requires the client to send one.
  if ((query.get('redirect_uri') ?? '') === '') return refuse('The request has no redirect_uri.')
  const redirectUri = single(query, 'redirect_uri')
  // A row that the owner wrote directly may hold what is never registered here, such as a script.
  if (redirectUri === undefined || !isRegistered(redirectUri, client) || !isRedirectUri(redirectUri))
    return refuse('The redirection URI is not one that the client has registered.')

  const address = { redirectUri, state: single(query, 'state') ?? null }
  const scope = single(query, 'scope') ?? rules.defaultScope
  const problem = problemOf(query, scope, rules.scopes) ?? missingChallenge(query, client, redirectUri)
  if (problem !== null) return { kind: 'redirect', location: locationOf(address, { ...problem }, rules) }
  return {
    kind: 'ask',
    clientId: client.clientId,
    ...(client.name !== undefined && { clientName: client.name }),
    ...address,
    scope: uniqueNames(scope),
    codeChallenge: single(query, 'code_challenge') ?? null,
  }
}

function refuse(reason: string): AuthorizationRequestOutcome {
  return { kind: 'refuse', reason }
}

/** Returns a parameter that was sent once. One without a value counts as omitted (RFC 6749 section 3.1). */
function single(query: URLSearchParams, name: string): string | undefined {
  const [value, ...more] = query.getAll(name)
  return more.length === 0 && value !== '' ? value : undefined
}

const checkedParameters = [
  'response_type',
  'response_mode',
  'scope',
  'state',
  'code_challenge',
  'code_challenge_method',
]

interface Problem {
  readonly error: 'invalid_request' | 'unsupported_response_type' | 'invalid_scope'
  readonly error_description: string
}

/** Returns the first thing wrong with the request that the client may be told, or null if nothing is wrong. */
function problemOf(query: URLSearchParams, scope: string, scopes: readonly string[]): Problem | null {
  const repeated = checkedParameters.find((name) => query.getAll(name).length > 1)
  if (repeated !== undefined) return invalid(`${repeated} was sent more than once.`)
  const responseType = single(query, 'response_type')
  if (responseType === undefined) return invalid('response_type is missing.')
  if (responseType !== 'code') {
    return { error: 'unsupported_response_type', error_description: 'response_type must be code.' }
  }
  // A client that waits for a form or a fragment would never see the answer.
  if ((single(query, 'response_mode') ?? 'query') !== 'query') return invalid('response_mode must be query.')
  return challengeProblem(query) ?? scopeProblem(scope, scopes)
}

/** Without a method, the challenge would be `plain`, which is the verifier itself (RFC 7636 section 4.3). */
function challengeProblem(query: URLSearchParams): Problem | null {
  const challenge = single(query, 'code_challenge')
  const method = single(query, 'code_challenge_method')
  if (challenge === undefined) {
    return method === undefined ? null : invalid('code_challenge is missing.')
  }
  if (method !== 'S256') return invalid('code_challenge_method must be S256.')
  return isChallenge(challenge) ? null : invalid('code_challenge must have 43 base64url characters.')
}

/** @see RFC 7636 section 4.4.1 */
function missingChallenge(query: URLSearchParams, client: Client, redirectUri: string): Problem | null {
  const isMissing = single(query, 'code_challenge') === undefined && needsChallenge(client, redirectUri)
  return isMissing ? invalid('code_challenge is missing.') : null
}

function scopeProblem(scope: string, scopes: readonly string[]): Problem | null {
  if (isScope(scope) && permits(scopes.join(' '), scope)) return null
  return { error: 'invalid_scope', error_description: 'The scope is unknown or malformed.' }
}

function invalid(description: string): Problem {
  return { error: 'invalid_request', error_description: description }
}

/**
 * Returns the redirection URI, its own query kept, with the parameters, the unchanged state and the issuer added.
 *
 * @see RFC 6749 section 4.1.2, RFC 9207 section 2
 */
export function locationOf(
  { redirectUri, state }: ReturnAddress,
  parameters: Record<string, string>,
  { issuer }: Pick<AuthorizationRules, 'issuer'>,
): string {
  const own = { ...(state !== null && { state }), ...(issuer !== undefined && { iss: issuer }) }
  const added = new URLSearchParams({ ...parameters, ...own }).toString()
  // Not through URL, which would rewrite the address.
  const separator = redirectUri.includes('?') ? (/[?&]$/.test(redirectUri) ? '' : '&') : '?'
  return redirectUri + separator + added
}
