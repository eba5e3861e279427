import type { ClientType, CredentialKind } from '../domain/credentials.ts'
import type { License, LicensePatch } from '../domain/license.ts'
import type { AccessReference, ClientPatch, PurgeCounts, RevokeCounts } from '../ports/storage.ts'
import type { ClientList, CredentialList, LicenseList, ResellerList } from '../ports/storage-listing.ts'
import type { AuthorizationErrorCode } from './authorization-error.ts'
import type { AuthorizationRequest, AuthorizationRequestOutcome } from './authorization-request.ts'
import type {
  AuthorizationServerMetadata,
  ProtectedResource,
  ProtectedResourceMetadata,
  ServerEndpoints,
} from './server-metadata.ts'

/**
 * The provisioning methods: everything that the HTTP operations leave to the owner of the service.
 *
 * Secrets are returned once and stored only as hashes. Input that is too long, malformed or taken throws a
 * `UtilityApiError` `invalid_argument` (status 400) before anything is stored. So does a member that is there, but
 * undefined, unless leaving it out is harmless. A session that has ended must not issue a token for nobody, nor a query
 * without its parameter list the licenses of everybody. Storage failures are thrown as `StorageError`. A storage that
 * does not answer within 30 seconds (ten minutes for `purgeExpired`) has failed.
 *
 * @group Provisioning
 */
export interface Admin {
  /**
   * Registers an OAuth client. A public one, such as a program on its user's machine, cannot keep a secret and gets
   * none. It proves with PKCE that it is the one that asked for a code.
   *
   * @throws `UtilityApiError` `invalid_argument` if the id is taken or has a colon in it, a redirection URI is invalid, an
   * imported secret is too short, or a public client is given one
   *
   * @see {@link https://www.rfc-editor.org/rfc/rfc6749#section-2.1 | RFC 6749 section 2.1},
   * {@link https://www.rfc-editor.org/rfc/rfc8252 | RFC 8252}
   *
   * @example
   * ```ts
   * const { clientId } = await admin.createClient({
   *   clientType: 'public',
   *   redirectUris: ['http://127.0.0.1/callback'],
   * })
   * ```
   */
  createClient<Type extends ClientType = 'confidential'>(
    client: NewClient & { readonly clientType?: Type },
  ): Promise<{ clientId: string; clientSecret: Type extends 'public' ? null : string }>
  /**
   * Changes the label or the redirection URIs of a client. Returns false if no such client exists. Codes issued before
   * keep their URI.
   *
   * @throws `UtilityApiError` `invalid_argument` if the label or a redirection URI is invalid
   */
  updateClient(clientId: string, patch: ClientPatch): Promise<boolean>
  /**
   * Gives a client a new secret. The previous one stays valid until the next rotation.
   *
   * @throws `UtilityApiError` `invalid_argument` if no such client exists, or if it is public
   */
  rotateClientSecret(clientId: string): Promise<{ clientSecret: string }>
  /**
   * Revokes a client: it can exchange no more codes, and its unspent codes are gone. Its tokens stay valid until they
   * expire; {@link Admin.revokeAccess} ends them. Returns false if no such client exists or it was already revoked.
   */
  revokeClient(clientId: string): Promise<boolean>
  /**
   * Checks what a client asks of a user, for your own authorization page.
   *
   * Redirects nobody to an address that the client has not registered, and accepts PKCE only with `S256`. Public clients,
   * and all at an app scheme, must use it. A request without `redirect_uri` is refused, because the token endpoint
   * requires one. On `http://localhost`, `127.0.0.1` and `[::1]`, a client may ask for any port, as native programs do.
   *
   * Obey `redirect` only for users who are signed in, and show the others your page for signing in. Otherwise, anybody
   * could register a client and send strangers through your address to theirs.
   *
   * @param query - The query of the request, unchanged.
   * @param options - `scopes`: the names that clients may ask for. `defaultScope`: what a request without scope asks
   *   for, names from `scopes` separated by spaces; default: `''`.
   *
   * @throws `UtilityApiError` `invalid_argument` if `defaultScope` has a name that is not in `scopes`
   *
   * @see {@link https://www.rfc-editor.org/rfc/rfc6749#section-4.1.1 | RFC 6749 section 4.1.1},
   * {@link https://www.rfc-editor.org/rfc/rfc8252#section-7.3 | RFC 8252 section 7.3},
   * {@link https://www.rfc-editor.org/rfc/rfc9700#section-4.11.2 | RFC 9700 sections 2.1 and 4.11.2}
   *
   * @example
   * ```ts
   * const asked = await admin.readAuthorizationRequest(url.searchParams, { scopes: ['dns:check'] })
   * if (asked.kind === 'refuse') showError(asked.reason)
   * else if (user === null) showSignInPage()
   * else if (asked.kind === 'redirect') redirect(asked.location)
   * else showConsentPage(asked)
   * ```
   */
  readAuthorizationRequest(
    query: URLSearchParams,
    options: { readonly scopes: readonly string[]; readonly defaultScope?: string },
  ): Promise<AuthorizationRequestOutcome>
  /**
   * Issues the code that a user has agreed to, and returns where to send them.
   *
   * @param asked - What {@link Admin.readAuthorizationRequest} returned.
   * @param grant - `subject`: who agreed. `scope`: what they agreed to, if less than was asked for.
   *   `lifetimeSeconds`: how long the code may be exchanged, at most 600; default: 60.
   *
   * @throws `UtilityApiError` `invalid_argument` if the scope is more than was asked for, the subject is malformed, or
   * the client was revoked or its redirection URI removed meanwhile
   */
  grantAuthorization(
    asked: AuthorizationRequest,
    grant?: { readonly subject?: string; readonly scope?: string; readonly lifetimeSeconds?: number },
  ): Promise<{ location: string }>
  /**
   * Returns where to send a user who gets no code.
   *
   * @param asked - What {@link Admin.readAuthorizationRequest} returned.
   * @param reason - `error`: what the client is told; default: `'access_denied'`, the user does not agree.
   *   `description`: a sentence for the client's developers, at most 255 ASCII characters without `"` and `\`.
   *
   * @throws `UtilityApiError` `invalid_argument` if the error is unknown, the description cannot be sent, or the client
   * was revoked or its redirection URI removed meanwhile
   *
   * @example
   * ```ts
   * // Nobody is signed in, and the request forbids a page (OpenID Connect's `prompt=none`).
   * const asked = await admin.readAuthorizationRequest(url.searchParams, { scopes: ['profile'] })
   * if (asked.kind === 'ask' && url.searchParams.get('prompt') === 'none')
   *   redirect((await admin.denyAuthorization(asked, { error: 'login_required' })).location)
   * ```
   *
   * @see {@link https://www.rfc-editor.org/rfc/rfc6749#section-4.1.2.1 | RFC 6749 section 4.1.2.1}
   */
  denyAuthorization(
    asked: AuthorizationRequest,
    reason?: { readonly error?: AuthorizationErrorCode; readonly description?: string },
  ): Promise<{ location: string }>
  /**
   * Returns the document from which OAuth clients learn the endpoints, to be served as JSON at
   * `/.well-known/oauth-authorization-server`. Without the option `oauth.issuer`, the issuer is the origin of
   * `authorizationEndpoint`.
   *
   * @throws `UtilityApiError` `invalid_argument` if an endpoint is not an absolute URL, or a scope is malformed
   *
   * @example
   * ```ts
   * const metadata = admin.authorizationServerMetadata({
   *   authorizationEndpoint: 'https://api.example/authorize',
   *   tokenEndpoint: 'https://api.example/v4/oauth2/token',
   * })
   * app.get('/.well-known/oauth-authorization-server', (_, response) => response.json(metadata))
   * ```
   *
   * @see {@link https://www.rfc-editor.org/rfc/rfc8414 | RFC 8414}
   */
  authorizationServerMetadata(endpoints: ServerEndpoints): AuthorizationServerMetadata
  /**
   * Returns the document from which clients learn where to get a token for an API of yours, to be served as JSON at
   * `/.well-known/oauth-protected-resource`. Name its URL to `verifyAccessToken` and `bearerToken` as
   * `resourceMetadata`. It takes no audience from the client, so a token is for all that its scope names.
   *
   * @throws `UtilityApiError` `invalid_argument` if `resource` is not an absolute URL, an issuer cannot be one, or a scope
   *   is malformed
   *
   * @example
   * ```ts
   * const metadata = admin.protectedResourceMetadata({
   *   resource: 'https://api.example/mcp',
   *   authorizationServers: ['https://api.example'],
   * })
   * app.get('/.well-known/oauth-protected-resource/mcp', (_, response) => response.json(metadata))
   * ```
   *
   * @see {@link https://www.rfc-editor.org/rfc/rfc9728 | RFC 9728}
   */
  protectedResourceMetadata(resource: ProtectedResource): ProtectedResourceMetadata
  /**
   * Issues an authorization code once the owner's own authorization page has the user's consent.
   *
   * @throws `UtilityApiError` `invalid_argument` if no such live client exists, `redirectUri` is not registered, the
   * scope, subject, challenge or lifetime is invalid, or a challenge is missing that the client needs
   */
  issueAuthorizationCode(code: NewAuthorizationCode): Promise<{ code: string; expiresAt: Date }>
  /**
   * Creates a reseller with a first token. If the storage fails between the two, the reseller exists without a token.
   * `listResellers` shows it, and `createResellerToken` gives it one.
   *
   * @throws `UtilityApiError` `invalid_argument` if the id is taken
   */
  createReseller(
    reseller?: NewReseller,
  ): Promise<{ resellerId: string; resellerTokenId: string; token: string }>
  /**
   * Gives a reseller another token. Its existing tokens stay valid.
   *
   * @param options - `lifetimeSeconds`: how long the token is accepted, at most ten years. Default: until it is revoked.
   *
   * @throws `UtilityApiError` `invalid_argument` if no such reseller exists or the lifetime is invalid
   */
  createResellerToken(
    resellerId: string,
    options?: { readonly lifetimeSeconds?: number },
  ): Promise<{ resellerTokenId: string; token: string }>
  /**
   * Creates an access token without a code exchange. Default lifetime: 3600 seconds.
   *
   * @throws `UtilityApiError` `invalid_argument` if the scope, subject or lifetime is invalid or no such live client
   * exists
   */
  createAccessToken(
    token: NewAdminAccessToken,
  ): Promise<{ accessTokenId: string; accessToken: string; expiresAt: Date }>
  /**
   * Creates an API key. Default permissions: `['blockgame:lookup']`.
   *
   * @throws `UtilityApiError` `invalid_argument` if a permission, the label or the lifetime is invalid
   */
  createApiKey(key?: NewApiKey): Promise<{ apiKeyId: string; apiKey: string }>
  /**
   * Revokes a credential of any kind by its secret or its id. Returns false if no such credential exists or it was
   * already revoked.
   *
   * @throws `UtilityApiError` `invalid_argument` if `id` is a secret
   */
  revoke(which: { secret: string } | { id: string }): Promise<boolean>
  /**
   * Ends everything granted to a client, or by the user that a subject names: access tokens and unspent codes. Such a
   * code yields no token afterwards. Of a reseller, ends all tokens; {@link Admin.createResellerToken} gives it new ones.
   *
   * @throws `UtilityApiError` `invalid_argument` if the client, the subject or the reseller is malformed
   */
  revokeAccess(which: AccessReference): Promise<RevokeCounts>
  /**
   * Returns a page of clients, oldest first, including revoked ones. Default limit: 50, at most 1000.
   *
   * @throws `UtilityApiError` `invalid_argument` if the limit is not in that range, `after` is not the `next` of an
   *   earlier page, or the storage cannot list
   */
  listClients(page?: { after?: string | undefined; limit?: number }): Promise<ClientList>
  /**
   * Returns a page of resellers, oldest first. Default limit: 50, at most 1000.
   *
   * @throws The same as {@link listClients}
   */
  listResellers(page?: { after?: string | undefined; limit?: number }): Promise<ResellerList>
  /**
   * Returns a page of credentials of one kind, oldest first, without secrets. Default limit: 50, at most 1000.
   *
   * `lastUsedOn` is the beginning of the last day (UTC) on which a reseller token or an API key was accepted. Servers
   * report uses about once a minute; what a killed server has not reported yet is lost.
   *
   * @throws The same as {@link listClients}
   */
  listCredentials(page: {
    kind: CredentialKind
    ownerId?: string
    after?: string | undefined
    limit?: number
  }): Promise<CredentialList>
  /**
   * Returns a page of licenses, oldest first. Default limit: 50, at most 1000.
   *
   * @param page - Filters, which combine. `domainOrIp`: the licenses that cover this host, compared as by `coversHost`.
   *   `eu.shop.example` also finds `*.shop.example`, while `*.shop.example` finds only itself. `status` and
   *   `reference`: exactly this one. `endsBefore`: those that end before, in order of their end; `endsFrom`: at this
   *   time or later. With these two goes no other filter than `resellerId`.
   *
   * @throws The same as {@link listClients}, and if `domainOrIp` is no host name or IP address, `status` cannot be one, or
   *   a filter does not go with `endsBefore`
   */
  listLicenses(page?: {
    resellerId?: string
    domainOrIp?: string
    status?: string
    reference?: string
    endsFrom?: Date
    endsBefore?: Date
    after?: string | undefined
    limit?: number
  }): Promise<LicenseList>
  /**
   * Returns the number of licenses, of all resellers or of one.
   *
   * @throws `UtilityApiError` `invalid_argument` if the storage cannot list
   */
  countLicenses(of?: { resellerId?: string }): Promise<number>
  /**
   * Creates a license for a reseller, as the operation does, for example when a payment has arrived.
   *
   * With a `reference`, a repeat returns the license that the first call created, as it is now, and `created` is false, so
   * a payment that is reported twice makes one license, however late, and after the license has moved to another reseller.
   * Status, end and time of creation of a repeat are ignored.
   *
   * @throws `UtilityApiError` `invalid_argument` if the operations would refuse a field, no such reseller exists,
   *   `licenseKey` is taken or could never be found, or the license of the `reference` is deleted;
   *   `idempotency_mismatch` if the reference was used for another name, domain or key
   *
   * @example
   * ```ts
   * const { licenseKey, created } = await admin.createLicense({
   *   resellerId: 'shop',
   *   registeredTo: 'Ada Lovelace',
   *   domainOrIp: 'shop.example',
   *   reference: 'payment-4711',
   * })
   * ```
   */
  createLicense(license: NewAdminLicense): Promise<License & { created: boolean }>
  /** Returns the license with this key, typed in any form the key generator accepts, or null if none exists. */
  getLicense(licenseKey: string): Promise<License | null>
  /**
   * Changes the given fields of any license, regardless of its owner. Returns false if no license has this key.
   *
   * @throws `UtilityApiError` `invalid_argument` if the operations would refuse a field, if the new owner is not a
   *   reseller, or if no field is given
   */
  updateLicense(licenseKey: string, change: AdminLicenseChange): Promise<boolean>
  /** Deletes a license permanently. Returns false if no license has this key. */
  deleteLicense(licenseKey: string): Promise<boolean>
  /** Deletes expired codes, tokens and idempotency keys. Call it daily. */
  purgeExpired(): Promise<PurgeCounts>
}

/**
 * A client to register.
 *
 * @group Provisioning
 */
export interface NewClient {
  /** A label for people, of at most 255 characters. */
  readonly name?: string
  /**
   * The redirection URIs that codes may be issued for, compared byte for byte, except for the port on `http://localhost`,
   * `127.0.0.1` and `[::1]`. At most ten, each `https`, `http` on loopback or an app scheme with a dot in it, of at most
   * 2,048 characters and without user information, fragment, wildcard, quote, backslash, angle bracket, or a parameter of
   * the answer (`code`, `state`, `iss`, `error`).
   */
  readonly redirectUris: readonly string[]
  /** `public` for a program that cannot keep a secret. Default: `confidential`. */
  readonly clientType?: ClientType
  /** At most 255 visible ASCII characters without a colon. Default: a new id. */
  readonly clientId?: string
  /** An imported secret of at least 32 characters. Default: a new secret. */
  readonly clientSecret?: string
}

/**
 * An authorization code to issue.
 *
 * @group Provisioning
 */
export interface NewAuthorizationCode {
  /** The client the code is for. */
  readonly clientId: string
  /** One of the client's registered redirection URIs; on `http://localhost`, `127.0.0.1` and `[::1]` with any port. */
  readonly redirectUri: string
  /** The scope granted: names separated by single spaces, at most 1,024 characters; `''` for none. */
  readonly scope: string
  /** Who agreed, in your own terms: at most 255 visible ASCII characters. Default: none. */
  readonly subject?: string
  /**
   * The PKCE challenge, method S256: 43 base64url characters. Default: none. Required of a public client, and at an app
   * scheme.
   */
  readonly codeChallenge?: string
  /** Lifetime in seconds, at most 600. Default: 60. */
  readonly lifetimeSeconds?: number
}

/**
 * A reseller to create.
 *
 * @group Provisioning
 */
export interface NewReseller {
  /** A label for people, of at most 255 characters. */
  readonly name?: string
  /** At most 255 visible ASCII characters. Default: a new id. */
  readonly resellerId?: string
  /** How long its first token is accepted, in seconds, at most ten years. Default: until it is revoked. */
  readonly tokenLifetimeSeconds?: number
}

/**
 * An access token to create directly.
 *
 * @group Provisioning
 */
export interface NewAdminAccessToken {
  /** The scope granted: names separated by single spaces, at most 1,024 characters; `''` for none. */
  readonly scope: string
  /** Lifetime in seconds, at most 31,536,000. Default: 3600. */
  readonly lifetimeSeconds?: number
  /** The client that holds it. Default: none; the token is its own owner. */
  readonly clientId?: string
  /** On whose behalf it acts: at most 255 visible ASCII characters. Default: none. */
  readonly subject?: string
}

/**
 * An API key to create.
 *
 * @group Provisioning
 */
export interface NewApiKey {
  /** A label for people, of at most 255 characters. */
  readonly name?: string
  /** Names without spaces, at most 1,024 characters in all. Default: `['blockgame:lookup']`. */
  readonly permissions?: readonly string[]
  /** How long it is accepted, in seconds, at most ten years. Default: until it is revoked. */
  readonly lifetimeSeconds?: number
}

/**
 * A license to create directly.
 *
 * @group Provisioning
 */
export interface NewAdminLicense {
  /** The reseller who owns it. */
  readonly resellerId: string
  /** Name of the registered user: 1 to 255 characters. Trimmed. */
  readonly registeredTo: string
  /** The host name or IP address it is bound to. Trimmed. */
  readonly domainOrIp: string
  /** One of the configured statuses. Default: the first of them, `valid`. */
  readonly status?: string
  /**
   * What it is sold for, such as the number of a payment: 1 to 255 visible ASCII characters. One reseller has one license
   * for it, for ever. Default: each call makes a license.
   */
  readonly reference?: string
  /** When it ends; may be past. Default: never. */
  readonly expiresAt?: Date
  /** The key that it has in another system. Default: a new key. */
  readonly licenseKey?: string
  /** When it was created in another system. Default: now. */
  readonly createdAt?: Date
}

/**
 * What the owner of the service may change in any license. Absent fields stay as they are; one that is undefined is
 * refused.
 *
 * @group Provisioning
 */
export interface AdminLicenseChange extends LicensePatch {
  /** The reseller who owns the license from now on. */
  readonly resellerId?: string
  /** What it was sold for, by which it is listed; null takes that away. It says nothing of what is sold only once. */
  readonly reference?: string | null
  /** When it ends; null if no longer. */
  readonly expiresAt?: Date | null
}
