import type { CredentialKind } from '../domain/access.ts'
import type { License, LicenseChange } from '../domain/license.ts'
import type { AccessReference, ClientPatch, PurgeCounts, RevokeCounts } from '../ports/storage.ts'
import type { ClientList, CredentialList, LicenseList, ResellerList } from '../ports/storage-listing.ts'
import type { AuthorizationRequest, AuthorizationRequestOutcome } from './authorization-request.ts'

/**
 * Provisioning: what the HTTP operations leave to the owner of the service.
 *
 * Secrets are returned once and stored as hashes only. Failures of storage come through as `StorageError`. What is too long,
 * malformed or taken throws a `UtilityApiError` `invalid_argument` before anything is stored.
 *
 * @group Provisioning
 */
export interface Admin {
  /**
   * Registers an OAuth client.
   *
   * @throws `UtilityApiError` `invalid_argument`: the id is taken, a redirection URI cannot be one, or an imported secret is
   * too short
   */
  createClient(client: NewClient): Promise<{ clientId: string; clientSecret: string }>
  /** Changes the label or the redirection URIs of a client. False: there is none. Codes issued before keep their URI. */
  updateClient(clientId: string, patch: ClientPatch): Promise<boolean>
  /**
   * Gives a client a new secret; the one before stays valid until the next rotation.
   *
   * @throws `UtilityApiError` `invalid_argument`: there is no such client
   */
  rotateClientSecret(clientId: string): Promise<{ clientSecret: string }>
  /**
   * Revokes a client: it can exchange no more codes, and those it has not spent are gone. Its tokens stay until they expire;
   * {@link Admin.revokeAccess} ends them. False: there is none, or it was revoked before.
   */
  revokeClient(clientId: string): Promise<boolean>
  /**
   * Judges what a client asks a user for, for your own authorization page.
   *
   * Redirects nobody to an address that the client has not registered, and takes PKCE with `S256` alone. Without
   * `redirect_uri`, the only one registered is meant; the token endpoint wants it all the same.
   *
   * @param query - The query of the request as it came.
   * @param options - `scopes`: the names that clients may ask for.
   *
   * @see {@link https://www.rfc-editor.org/rfc/rfc6749#section-4.1.1 | RFC 6749 section 4.1.1},
   * {@link https://www.rfc-editor.org/rfc/rfc9700#section-2.1 | RFC 9700 section 2.1}
   *
   * @example
   * ```ts
   * const asked = await admin.readAuthorizationRequest(url.searchParams, { scopes: ['dns:check'] })
   * if (asked.kind === 'redirect') redirect(asked.location)
   * else if (asked.kind === 'refuse') showError(asked.reason)
   * else showConsentPage(asked)
   * ```
   */
  readAuthorizationRequest(
    query: URLSearchParams,
    options: { readonly scopes: readonly string[] },
  ): Promise<AuthorizationRequestOutcome>
  /**
   * Issues the code that a user has agreed to, and says where to send them.
   *
   * @param asked - What {@link Admin.readAuthorizationRequest} returned.
   * @param grant - `subject`: who agreed. `scope`: what they agreed to, if less than was asked.
   *
   * @throws `UtilityApiError` `invalid_argument`: more scope than was asked for, or a client revoked meanwhile
   */
  grantAuthorization(
    asked: AuthorizationRequest,
    grant?: { readonly subject?: string; readonly scope?: string },
  ): Promise<{ location: string }>
  /** Says where to send a user who does not agree. */
  denyAuthorization(asked: AuthorizationRequest): { location: string }
  /**
   * Issues an authorization code, once the owner's own authorization page has the user's consent.
   *
   * @throws `UtilityApiError` `invalid_argument`: no such live client, `redirectUri` is not registered, or a malformed scope,
   * subject or challenge
   */
  issueAuthorizationCode(code: NewAuthorizationCode): Promise<{ code: string; expiresAt: Date }>
  /**
   * Creates a reseller with a first token.
   *
   * @throws `UtilityApiError` `invalid_argument`: the id is taken
   */
  createReseller(
    reseller?: NewReseller,
  ): Promise<{ resellerId: string; resellerTokenId: string; token: string }>
  /**
   * Gives a reseller a further token; those it has stay valid.
   *
   * @throws `UtilityApiError` `invalid_argument`: there is no such reseller
   */
  createResellerToken(resellerId: string): Promise<{ resellerTokenId: string; token: string }>
  /**
   * Creates an access token without a code exchange. Default lifetime: 3600 seconds.
   *
   * @throws `UtilityApiError` `invalid_argument`: a malformed scope, or no such live client
   */
  createAccessToken(
    token: NewAdminAccessToken,
  ): Promise<{ accessTokenId: string; accessToken: string; expiresAt: Date }>
  /** Creates an API key. Default permissions: `['blockgame:lookup']`. */
  createApiKey(key?: NewApiKey): Promise<{ apiKeyId: string; apiKey: string }>
  /** Revokes a credential of any kind by its secret or its id. False: there is none, or it was revoked before. */
  revoke(which: { secret: string } | { id: string }): Promise<boolean>
  /**
   * Ends all that a client, or the user that a subject names, has been granted: access tokens, and codes not spent yet. No
   * token comes of such a code afterwards.
   */
  revokeAccess(which: AccessReference): Promise<RevokeCounts>
  /** A page of clients, oldest first, revoked ones included. Default limit: 50, at most 1000. */
  listClients(page?: { after?: string; limit?: number }): Promise<ClientList>
  /** A page of resellers, oldest first. Default limit: 50, at most 1000. */
  listResellers(page?: { after?: string; limit?: number }): Promise<ResellerList>
  /** A page of the credentials of one kind, oldest first, without their secrets. Default limit: 50, at most 1000. */
  listCredentials(page: {
    kind: CredentialKind
    ownerId?: string
    after?: string
    limit?: number
  }): Promise<CredentialList>
  /** A page of licenses, oldest first. Default limit: 50, at most 1000. */
  listLicenses(page?: { resellerId?: string; after?: string; limit?: number }): Promise<LicenseList>
  /** How many licenses there are. */
  countLicenses(of?: { resellerId?: string }): Promise<number>
  /** The license with this key, typed in any form the key generator accepts; null when there is none. */
  getLicense(licenseKey: string): Promise<License | null>
  /**
   * Changes the sent fields of any license, whoever owns it. False: there is none with this key.
   *
   * @throws `UtilityApiError` `invalid_argument`: a field that the operations would refuse, or none at all
   */
  updateLicense(licenseKey: string, change: LicenseChange): Promise<boolean>
  /** Deletes a license for good. False: there is none with this key. */
  deleteLicense(licenseKey: string): Promise<boolean>
  /** Deletes expired codes, tokens and idempotency keys. To be called now and then. */
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
   * The redirection URIs that codes may be issued for, compared byte for byte: ten at most, each `https`, `http` on loopback
   * or a scheme of an app with a dot in it, of at most 2,048 characters and without fragment.
   */
  readonly redirectUris: readonly string[]
  /** At most 255 visible ASCII characters. Default: a new id. */
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
  /** The client it is for. */
  readonly clientId: string
  /** One of the client's registered redirection URIs. */
  readonly redirectUri: string
  /** The scope granted: names separated by single spaces, at most 1,024 characters; `''` for none. */
  readonly scope: string
  /** Who agreed, in your own words: at most 255 visible ASCII characters. Default: nobody in particular. */
  readonly subject?: string
  /** The PKCE challenge, method S256: 43 base64url characters. Default: none. */
  readonly codeChallenge?: string
  /** Default: 60 seconds; at most 600. */
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
}

/**
 * An access token to create directly.
 *
 * @group Provisioning
 */
export interface NewAdminAccessToken {
  /** The scope granted: names separated by single spaces, at most 1,024 characters; `''` for none. */
  readonly scope: string
  /** Default: 3600 seconds; at most 31,536,000. */
  readonly lifetimeSeconds?: number
  /** The client that holds it. Default: none; the token is its own owner. */
  readonly clientId?: string
  /** On whose behalf it acts: at most 255 visible ASCII characters. Default: nobody's. */
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
}
