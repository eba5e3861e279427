import { isScopeName } from '../domain/credentials.ts'
import { demand } from '../domain/arguments.ts'
import { isSecureUrl } from '../domain/secure-url.ts'

/**
 * Where an authorization server's endpoints are.
 *
 * @group Provisioning
 */
export interface ServerEndpoints {
  /** The URL of your authorization page. */
  readonly authorizationEndpoint: string
  /** The URL of the token exchange. */
  readonly tokenEndpoint: string
  /** The names that clients may ask for. Default: left out. */
  readonly scopes?: readonly string[]
  /** Whether there are public clients, which send no secret, so they look here for it. Default: false. */
  readonly publicClients?: boolean
}

/**
 * The document from which OAuth clients learn the endpoints and what they support, ready to be sent as JSON.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc8414#section-2 | RFC 8414 section 2}
 *
 * @group Provisioning
 */
export interface AuthorizationServerMetadata {
  /** Who issues the tokens, as a URL without query and fragment. */
  readonly issuer: string
  /** The URL of the page that asks the user. */
  readonly authorization_endpoint: string
  /** The URL of the token exchange. */
  readonly token_endpoint: string
  /** The names that clients may ask for; absent if none were given. */
  readonly scopes_supported?: string[]
  /** Always `code`. */
  readonly response_types_supported: string[]
  /** Always `query`. */
  readonly response_modes_supported: string[]
  /** Always `authorization_code`. */
  readonly grant_types_supported: string[]
  /** How a client may send its secret; `none` if there are public clients. */
  readonly token_endpoint_auth_methods_supported: string[]
  /** Always `S256`. */
  readonly code_challenge_methods_supported: string[]
  /** True if every answer of the page has `iss` (RFC 9207). */
  readonly authorization_response_iss_parameter_supported: boolean
}

/**
 * An API of yours that tokens open.
 *
 * @group Provisioning
 */
export interface ProtectedResource {
  /** Its address: an absolute URL without fragment. */
  readonly resource: string
  /** The issuers of the servers that give tokens for it. */
  readonly authorizationServers: readonly string[]
  /** The names that clients may ask for. Default: left out. */
  readonly scopes?: readonly string[]
}

/**
 * The document from which clients learn where to get a token for an API, ready to be sent as JSON.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc9728#section-2 | RFC 9728 section 2}
 *
 * @group Provisioning
 */
export interface ProtectedResourceMetadata {
  /** The address of the API. */
  readonly resource: string
  /** The issuers of the servers that give tokens for it. */
  readonly authorization_servers: string[]
  /** The names that clients may ask for; absent if none were given. */
  readonly scopes_supported?: string[]
  /** Always `header`. */
  readonly bearer_methods_supported: string[]
}

export function resourceMetadata(described: ProtectedResource): ProtectedResourceMetadata {
  const { resource, authorizationServers, scopes = [] } = described
  demandEndpoint('resource', resource)
  const areIssuers = authorizationServers.length > 0 && authorizationServers.every(isIssuer)
  demand(areIssuers, 'authorizationServers must be https URLs without query and fragment, at least one.')
  demand(scopes.every(isScopeName), 'scopes must be names without spaces.')
  return {
    resource,
    authorization_servers: [...authorizationServers],
    ...(scopes.length > 0 && { scopes_supported: [...scopes] }),
    bearer_methods_supported: ['header'],
  }
}

/**
 * Tells whether a URL can name an authorization server.
 *
 * @see RFC 8414 section 2, RFC 9207 section 2
 */
export function isIssuer(url: string): boolean {
  return isSecureUrl(url) && !/[?#]/.test(url)
}

/** @param issuer - The admin's; without one, it is the origin of the page, which no answer repeats. */
export function serverMetadata(
  { authorizationEndpoint, tokenEndpoint, scopes = [], publicClients = false }: ServerEndpoints,
  issuer: string | undefined,
): AuthorizationServerMetadata {
  demandEndpoint('authorizationEndpoint', authorizationEndpoint)
  demandEndpoint('tokenEndpoint', tokenEndpoint)
  demand(scopes.every(isScopeName), 'scopes must be names without spaces.')
  return {
    issuer: issuer ?? new URL(authorizationEndpoint).origin,
    authorization_endpoint: authorizationEndpoint,
    token_endpoint: tokenEndpoint,
    // RFC 8414 section 3.2: an empty list is left out.
    ...(scopes.length > 0 && { scopes_supported: [...scopes] }),
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code'],
    token_endpoint_auth_methods_supported: [
      'client_secret_basic',
      'client_secret_post',
      ...(publicClients ? ['none'] : []),
    ],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: issuer !== undefined,
  }
}

function demandEndpoint(name: string, url: string): void {
  const isEndpoint = isSecureUrl(url) && !url.includes('#')
  demand(isEndpoint, `${name} must be an absolute https URL without fragment, or http on loopback.`)
}
