import { isScope, permits, type Credential } from '../domain/credentials.ts'
import { demand, invalidArgument, isOptions } from '../domain/arguments.ts'
import { isSecureUrl } from '../domain/secure-url.ts'
import { refusal, refused, UtilityApiError, type Refusal } from '../domain/errors.ts'
import type { StorageCall } from '../ports/storage-call.ts'
import type { MaybePromise } from '../domain/maybe-promise.ts'
import { liveCredential } from './live-credential.ts'
import { realm, type CredentialParts, type Scheme } from './scheme.ts'

/** The two kinds of bearer token. */
export type BearerKind = 'access_token' | 'reseller_token'

/** RFC 6750 section 2.1: scheme, spaces, token68, nothing after. Repeated headers are joined by a comma and fail here. */
const grammar = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i

/** RFC 6750 section 3.1 tells a caller nothing about a credential unless a bearer token was sent. */
const challenge = `Bearer realm="${realm}"`
const invalidTokenChallenge = `${challenge}, error="invalid_token"`

const notAHeader =
  "authorization must be the value of a header: write request.headers.authorization, or request.headers.get('authorization')."

const missing = refusal('invalid_token', 'The bearer token is missing.')
const invalid = refusal('invalid_token', 'The bearer token is invalid, expired or revoked.')

function lacking(scope: string): Refusal {
  return refusal('insufficient_scope', `The access token lacks the scope ${scope}.`)
}

/**
 * Returns the token in an `Authorization` header.
 *
 * @param authorization - The header's value. A list, which some servers give for repeated headers, must hold one value.
 * @param options - What the challenge of a refusal tells in addition.
 *
 * @throws `UtilityApiError` `invalid_token` if there is none, or if it is anything other than one bearer token;
 *   `invalid_argument` if the argument is not the value of a header, or an option is unknown or wrong
 *
 * @example
 * ```ts
 * const grant = await api.verifyAccessToken(bearerToken(request.headers.authorization))
 * ```
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc6750#section-2.1 | RFC 6750 section 2.1}
 *
 * @group Verification
 */
export function bearerToken(
  authorization: string | readonly string[] | null | undefined,
  options: ChallengeOptions = {},
): string {
  wanted('scope', options, 'resourceMetadata')
  const add = additionOf(options)
  try {
    return tokenIn(authorization)
  } catch (error) {
    throw add(error)
  }
}

function tokenIn(authorization: string | readonly string[] | null | undefined): string {
  const values = authorization ?? ''
  if (typeof values !== 'string' && !Array.isArray(values)) throw invalidArgument(notAHeader)
  const header = typeof values === 'string' ? values : values.join(', ')
  if (header === '') throw missingToken()
  const token = grammar.exec(header)?.[1]
  if (token === undefined)
    throw invalidToken(
      'The header does not consist of Bearer, a space and a token.',
      /^bearer /i.test(header) ? invalidTokenChallenge : challenge,
    )
  return token
}

/** Returns the credential of a bearer token that is live. */
export function verifyBearer(
  parts: CredentialParts,
  kind: BearerKind,
  token: string | undefined,
  call: StorageCall,
): MaybePromise<Credential> {
  if (token === undefined) throw missingToken()
  return liveCredential(parts, kind, token, call, invalidToken)
}

/** Throws unless the credential permits all names of a scope. */
export function requireScope(credential: Credential, scope: string | undefined): void {
  if (scope !== undefined && !permits(credential.scope, scope)) throw insufficientScope(scope)
}

/**
 * What a challenge tells a client in addition, which has no token yet, or one that does not do.
 *
 * @group Verification
 */
export interface ChallengeOptions {
  /** The scope that the token needs: names separated by spaces. */
  readonly scope?: string
  /**
   * The URL of the document that `admin.protectedResourceMetadata` returns, by which clients of MCP servers find out where
   * to get a token. Default: the challenge does not name it.
   *
   * @see {@link https://www.rfc-editor.org/rfc/rfc9728#section-5.1 | RFC 9728 section 5.1}
   */
  readonly resourceMetadata?: string
}

/**
 * Returns the names that are required. A misspelled option, or one without a value or with an empty one, would let
 * everybody in.
 */
export function wanted<Name extends string>(
  name: Name,
  options: { readonly [Key in Name]?: string } = {},
  other?: string,
): string | undefined {
  demand(isOptions(options), `options must be an object: write { ${name} }.`)
  for (const each in options) {
    if (each !== name && each !== other) throw invalidArgument(`${each} is not an option: use ${name}.`)
  }
  if (!(name in options)) return undefined
  const names: unknown = options[name]
  const areNames = typeof names === 'string' && names !== '' && isScope(names)
  demand(areNames, `${name} must be a string of names separated by single spaces.`)
  return names
}

/** Does work, with these options in the challenge of its refusals. */
export async function challenging<Result>(
  options: ChallengeOptions,
  work: () => Promise<Result>,
): Promise<Result> {
  const add = additionOf(options)
  try {
    return await work()
  } catch (error) {
    throw add(error)
  }
}

/** Returns a function that adds these options to the challenge of a refusal. */
function additionOf({ scope, resourceMetadata }: ChallengeOptions): (error: unknown) => unknown {
  if (resourceMetadata === undefined) return (error) => error
  const isUrl =
    typeof resourceMetadata === 'string' &&
    // As in a scope: the header would have to escape these.
    !/["\\]/.test(resourceMetadata) &&
    isSecureUrl(resourceMetadata)
  demand(isUrl, 'resourceMetadata must be an absolute https URL, or http on loopback.')
  return (error) => {
    if (!(error instanceof UtilityApiError)) return error
    const { code, message, headers, cause } = error
    const given = headers['WWW-Authenticate']
    if (given === undefined) return error
    const needed = scope === undefined || given.includes(', scope=') ? '' : `, scope="${scope}"`
    const value = `${given}${needed}, resource_metadata="${resourceMetadata}"`
    return new UtilityApiError(code, message, { headers: { ...headers, 'WWW-Authenticate': value }, cause })
  }
}

/**
 * Creates the scheme for bearer tokens of one kind.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc6750 | RFC 6750}
 */
export function bearerScheme(
  parts: CredentialParts,
  kind: BearerKind,
  description: string,
): Scheme<Credential> {
  return {
    name: kind,
    parameters: [],
    refusals: (scope) => [missing, invalid, ...(scope === undefined ? [] : [lacking(scope)])],
    authenticate: (presented) =>
      verifyBearer(parts, kind, tokenIn(presented.header('Authorization')), presented),
    callerId: ({ ownerId }) => ownerId,
    requirePermission: requireScope,
    challenge: invalidTokenChallenge,
    openapi: {
      scheme: { type: 'http', scheme: 'bearer', description },
      codes: 'A stable code.',
      challenge: {
        description: 'How to authenticate, and what was wrong with the token (RFC 6750).',
        example: invalidTokenChallenge,
      },
    },
  }
}

function missingToken(): UtilityApiError {
  return refused(missing, { headers: { 'WWW-Authenticate': challenge } })
}

/** @param cause - Why, for the log: the sender is told the same in all cases. */
function invalidToken(cause?: string, header = invalidTokenChallenge): UtilityApiError {
  return refused(invalid, { headers: { 'WWW-Authenticate': header }, cause })
}

/** @see RFC 6750 section 3.1 */
function insufficientScope(scope: string): UtilityApiError {
  return refused(lacking(scope), {
    headers: { 'WWW-Authenticate': `${challenge}, error="insufficient_scope", scope="${scope}"` },
  })
}
