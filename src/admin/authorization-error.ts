import { demand } from '../domain/arguments.ts'

const authorizationErrors = [
  'access_denied',
  'invalid_request',
  'invalid_scope',
  'server_error',
  'temporarily_unavailable',
  'unauthorized_client',
  'unsupported_response_type',
  // What OpenID Connect adds.
  'account_selection_required',
  'consent_required',
  'interaction_required',
  'invalid_request_object',
  'invalid_request_uri',
  'login_required',
  'registration_not_supported',
  'request_not_supported',
  'request_uri_not_supported',
  'unmet_authentication_requirements',
] as const

/**
 * What an authorization page may tell a client instead of a code.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc6749#section-4.1.2.1 | RFC 6749 section 4.1.2.1},
 * {@link https://openid.net/specs/openid-connect-core-1_0.html#AuthError | OpenID Connect Core section 3.1.2.6},
 * {@link https://openid.net/specs/openid-connect-unmet-authentication-requirements-1_0.html | its later code, unmet_authentication_requirements}
 *
 * @group Provisioning
 */
export type AuthorizationErrorCode = (typeof authorizationErrors)[number]

const longestDescription = 255

/** Returns the parameters of an answer that refuses. */
export function errorParameters(
  error: AuthorizationErrorCode,
  description: string | undefined,
): Record<string, string> {
  demand(
    authorizationErrors.includes(error),
    `error: "${error.slice(0, 255)}" is not an error that an authorization page may send.`,
  )
  if (description === undefined) return { error }
  // RFC 6749 appendix A.8.
  const isText = /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/.test(description)
  const fits = isText && description.length <= longestDescription
  demand(fits, `description must be 1 to ${longestDescription} ASCII characters, none of them " or \\.`)
  return { error, error_description: description }
}
