import type { Credential, CredentialKind } from '../domain/access.ts'
import { UtilityApiError } from '../domain/errors.ts'
import type { License } from '../domain/license.ts'
import { hashSecret } from '../domain/secret.ts'
import type { Clock } from '../ports/clock.ts'
import type { KeyGenerator } from '../ports/key-generator.ts'
import type { AdminStorage, LicenseList, PurgeCounts } from '../ports/storage.ts'

/**
 * Provisioning: what the HTTP operations leave to the owner of the service.
 *
 * Secrets are returned once and stored as hashes only. Failures of storage come through as `StorageError`.
 *
 * @group Provisioning
 */
export interface Admin {
  /**
   * Registers an OAuth client.
   *
   * @throws `UtilityApiError` `invalid_argument`: the id is taken, a redirection URI is no absolute URI or has a fragment, or
   * an imported secret is too short
   */
  createClient(client: NewClient): Promise<{ clientId: string; clientSecret: string }>
  /** Gives a client a new secret; the one before stays valid until the next rotation. */
  rotateClientSecret(clientId: string): Promise<{ clientSecret: string }>
  /** Revokes a client: it can exchange no more codes. False: there is none, or it was revoked before. */
  revokeClient(clientId: string): Promise<boolean>
  /**
   * Issues an authorization code, once the owner's own authorization page has the user's consent.
   *
   * @throws `UtilityApiError` `invalid_argument`: no such live client, `redirectUri` is not registered, or a malformed scope or
   * challenge
   */
  issueAuthorizationCode(code: NewAuthorizationCode): Promise<{ code: string; expiresAt: Date }>
  /** Creates a reseller with a first token. */
  createReseller(
    reseller?: NewReseller,
  ): Promise<{ resellerId: string; resellerTokenId: string; token: string }>
  /** Gives a reseller a further token; those it has stay valid. */
  createResellerToken(resellerId: string): Promise<{ resellerTokenId: string; token: string }>
  /** Creates an access token without a code exchange. Default lifetime: 3600 seconds. */
  createAccessToken(
    token: NewAdminAccessToken,
  ): Promise<{ accessTokenId: string; accessToken: string; expiresAt: Date }>
  /** Creates an API key. Default permissions: `['blockgame:lookup']`. */
  createApiKey(key?: NewApiKey): Promise<{ apiKeyId: string; apiKey: string }>
  /** Revokes a credential of any kind by its secret or its id. False: there is none, or it was revoked before. */
  revoke(which: { secret: string } | { id: string }): Promise<boolean>
  /** The licence with this key, typed in any form the key generator accepts; null when there is none. */
  getLicense(licenseKey: string): Promise<License | null>
  /** A page of licences, oldest first. Default limit: 50, at most 1000. */
  listLicenses(page?: { resellerId?: string; after?: string; limit?: number }): Promise<LicenseList>
  /** Deletes expired codes, tokens and idempotency keys. To be called now and then. */
  purgeExpired(): Promise<PurgeCounts>
}

/**
 * A client to register.
 *
 * @group Provisioning
 */
export interface NewClient {
  /** A label for people. */
  readonly name?: string
  /** The redirection URIs that codes may be issued for, compared byte for byte. */
  readonly redirectUris: readonly string[]
  /** Default: a new id. */
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
  /** The scope granted: names separated by single spaces, `''` for none. */
  readonly scope: string
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
  /** A label for people. */
  readonly name?: string
  /** Default: a new id. */
  readonly resellerId?: string
}

/**
 * An access token to create directly.
 *
 * @group Provisioning
 */
export interface NewAdminAccessToken {
  /** The scope granted: names separated by single spaces, `''` for none. */
  readonly scope: string
  /** Default: 3600 seconds. */
  readonly lifetimeSeconds?: number
}

/**
 * An API key to create.
 *
 * @group Provisioning
 */
export interface NewApiKey {
  /** A label for people. */
  readonly name?: string
  /** Default: `['blockgame:lookup']`. */
  readonly permissions?: readonly string[]
}

/** All that provisioning takes. */
export interface AdminParts {
  readonly storage: AdminStorage
  readonly clock: Clock
  readonly keyGenerator: KeyGenerator
  readonly keyPrefix: string
}

const maxPage = 1000

export function assembleAdmin({ storage, clock, keyGenerator, keyPrefix }: AdminParts): Admin {
  async function insertCredential(
    kind: CredentialKind,
    credential: Pick<Credential, 'scope' | 'expiresAt' | 'name'> & { readonly ownerId?: string },
  ): Promise<{ id: string; secret: string }> {
    const id = keyGenerator.id()
    const secret = keyGenerator.secret(kind)
    await storage.insertCredential(kind, hashSecret(secret), {
      ownerId: id,
      ...credential,
      id,
      revokedAt: null,
    })
    return { id, secret }
  }

  async function createResellerToken(
    resellerId: string,
    name?: string,
  ): Promise<{ resellerTokenId: string; token: string }> {
    demand(isVisible(resellerId), 'resellerId must be visible ASCII without spaces.')
    const { id, secret } = await insertCredential('reseller_token', {
      ownerId: resellerId,
      scope: '',
      expiresAt: null,
      ...(name !== undefined && { name }),
    })
    return { resellerTokenId: id, token: secret }
  }

  return {
    async createClient({ name, redirectUris, clientId = keyGenerator.id(), clientSecret }) {
      demand(isVisible(clientId), 'clientId must be visible ASCII without spaces.')
      const wrong = redirectUris.find((uri) => !isRedirectUri(uri))
      demand(wrong === undefined, `redirectUris: "${wrong}" is no absolute URI without fragment.`)
      const secret = clientSecret ?? keyGenerator.secret('client_secret')
      demand(isStrongSecret(secret), 'clientSecret must have at least 32 visible ASCII characters.')
      const result = await storage.insertClient({
        clientId,
        secretHashes: [hashSecret(secret)],
        redirectUris,
        revokedAt: null,
        ...(name !== undefined && { name }),
      })
      demand(result === 'inserted', `clientId: "${clientId}" is taken.`)
      return { clientId, clientSecret: secret }
    },

    async rotateClientSecret(clientId) {
      const client = await storage.findClient(clientId)
      demand(client !== null, `clientId: there is no client "${clientId}".`)
      const clientSecret = keyGenerator.secret('client_secret')
      const current = client?.secretHashes.slice(0, 1) ?? []
      await storage.setClientSecrets(clientId, [hashSecret(clientSecret), ...current])
      return { clientSecret }
    },

    revokeClient: async (clientId) => storage.revokeClient(clientId, clock.now()),

    async issueAuthorizationCode({
      clientId,
      redirectUri,
      scope,
      codeChallenge = null,
      lifetimeSeconds = 60,
    }) {
      const client = await storage.findClient(clientId)
      demand(client !== null && client.revokedAt === null, `clientId: there is no live client "${clientId}".`)
      demand(
        client?.redirectUris.includes(redirectUri) === true,
        `redirectUri: "${redirectUri}" is not registered.`,
      )
      demand(isScope(scope), 'scope must be names separated by single spaces.')
      demand(
        codeChallenge === null || isChallenge(codeChallenge),
        'codeChallenge must be 43 base64url characters.',
      )
      demand(isIntegerUpTo(lifetimeSeconds, 600), 'lifetimeSeconds must be an integer from 1 to 600.')
      const code = keyGenerator.secret('authorization_code')
      const expiresAt = clock.now() + lifetimeSeconds * 1000
      const row = { clientId, redirectUri, scope, codeChallenge, expiresAt, redeemedAt: null }
      await storage.insertAuthorizationCode(hashSecret(code), row)
      return { code, expiresAt: new Date(expiresAt) }
    },

    async createReseller({ name, resellerId = keyGenerator.id() } = {}) {
      return { resellerId, ...(await createResellerToken(resellerId, name)) }
    },

    createResellerToken: (resellerId) => createResellerToken(resellerId),

    async createAccessToken({ scope, lifetimeSeconds = 3600 }) {
      demand(isScope(scope), 'scope must be names separated by single spaces.')
      demand(
        isIntegerUpTo(lifetimeSeconds, 31_536_000),
        'lifetimeSeconds must be an integer from 1 to 31536000.',
      )
      const expiresAt = clock.now() + lifetimeSeconds * 1000
      const { id, secret } = await insertCredential('access_token', { scope, expiresAt })
      return { accessTokenId: id, accessToken: secret, expiresAt: new Date(expiresAt) }
    },

    async createApiKey({ name, permissions = ['blockgame:lookup'] } = {}) {
      demand(permissions.every(isScopeName), 'permissions must be names without spaces.')
      const { id, secret } = await insertCredential('api_key', {
        scope: permissions.join(' '),
        expiresAt: null,
        ...(name !== undefined && { name }),
      })
      return { apiKeyId: id, apiKey: secret }
    },

    revoke: async (which) =>
      storage.revokeCredential('secret' in which ? { hash: hashSecret(which.secret) } : which, clock.now()),

    async getLicense(licenseKey) {
      const canonical = keyGenerator.parseLicenseKey(licenseKey, keyPrefix)
      return canonical === null ? null : storage.getLicense(canonical)
    },

    async listLicenses({ limit = 50, ...page } = {}) {
      demand(isIntegerUpTo(limit, maxPage), `limit must be an integer from 1 to ${maxPage}.`)
      return storage.listLicenses({ ...page, limit })
    },

    purgeExpired: async () => storage.purgeExpired(clock.now()),
  }
}

function demand(condition: boolean, message: string): void {
  if (!condition) throw new UtilityApiError('invalid_argument', message)
}

function isVisible(text: string): boolean {
  return /^[\x21-\x7e]{1,255}$/.test(text)
}

function isStrongSecret(text: string): boolean {
  return /^[\x20-\x7e]{32,1024}$/.test(text)
}

/** @see RFC 6749 section 3.1.2 */
function isRedirectUri(text: string): boolean {
  return URL.canParse(text) && !text.includes('#') && /^[\x21-\x7e]+$/.test(text)
}

/** @see RFC 6749 section 3.3 */
function isScope(text: string): boolean {
  return text === '' || text.split(' ').every(isScopeName)
}

function isScopeName(text: string): boolean {
  return /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(text)
}

/** @see RFC 7636 section 4.2 */
function isChallenge(text: string): boolean {
  return /^[\w-]{43}$/.test(text)
}

function isIntegerUpTo(value: number, max: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= max
}
