import {
  defaultTokenLifetimeSeconds,
  type Client,
  type Credential,
  type CredentialKind,
} from '../domain/access.ts'
import type { LicenseRules } from '../domain/license-rules.ts'
import { hashSecret, sha256 } from '../domain/secret.ts'
import type { Clock } from '../ports/clock.ts'
import type { KeyGenerator } from '../ports/key-generator.ts'
import type { AdminStorage } from '../ports/storage.ts'
import { callWithin, type StorageCall } from '../ports/storage-call.ts'
import type { Admin } from './admin.ts'
import { isWithin, judgeRequest, locationOf } from './authorization-request.ts'
import * as check from './checks.ts'
import { listsOf } from './lists.ts'
import { isRegistered } from './redirect-uri.ts'

/** All that provisioning takes. */
export interface AdminParts extends LicenseRules {
  readonly storage: AdminStorage
  readonly clock: Clock
  readonly keyGenerator: KeyGenerator
}

/** How long a call waits for storage: nobody else's request does. */
const storageTimeoutMs = 30_000
/** A purge deletes portion after portion; after a long pause there are many. */
const purgeTimeoutMs = 600_000

function call(): StorageCall {
  return callWithin(storageTimeoutMs)
}

export function assembleAdmin(parts: AdminParts): Admin {
  const { storage, clock, keyGenerator, keyPrefix } = parts
  /** Text that no client can be called is not looked up. */
  async function findClient(clientId: string): Promise<Client | null> {
    return check.isIdentifier(clientId) ? storage.findClient(clientId, call()) : null
  }

  async function requireLiveClient(clientId: string): Promise<Client> {
    const client = await findClient(clientId)
    check.demand(client?.revokedAt === null, `clientId: there is no live client "${clientId.slice(0, 255)}".`)
    return client
  }

  async function insertCredential(
    kind: CredentialKind,
    credential: Pick<Credential, 'scope' | 'expiresAt' | 'name'> & {
      readonly ownerId?: string
      readonly subject?: string
    },
  ): Promise<{ id: string; secret: string }> {
    const now = clock.now()
    const id = keyGenerator.id(now)
    const secret = keyGenerator.secret(kind, now)
    const times = { createdAt: now, revokedAt: null }
    const row = { ownerId: id, subject: null, ...credential, ...times, id }
    const result = await storage.insertCredential(kind, hashSecret(secret), row, call())
    check.demand(result === 'inserted', `resellerId: there is no reseller "${row.ownerId}".`)
    return { id, secret }
  }

  async function createResellerToken(
    resellerId: string,
  ): Promise<{ resellerTokenId: string; token: string }> {
    check.demandIdentifier('resellerId', resellerId)
    const { id, secret } = await insertCredential('reseller_token', {
      ownerId: resellerId,
      scope: '',
      expiresAt: null,
    })
    return { resellerTokenId: id, token: secret }
  }

  const issueAuthorizationCode: Admin['issueAuthorizationCode'] = async (code) => {
    const { clientId, redirectUri, scope, subject, codeChallenge = null, lifetimeSeconds = 60 } = code
    const client = await requireLiveClient(clientId)
    const mayBeSent = isRegistered(redirectUri, client)
    check.demand(mayBeSent, `redirectUri: "${redirectUri.slice(0, 255)}" is not registered.`)
    check.demandScope(scope)
    check.demandIdentifier('subject', subject)
    const isChallenge = codeChallenge === null || check.isChallenge(codeChallenge)
    check.demand(isChallenge, 'codeChallenge must be 43 base64url characters.')
    check.demandInteger('lifetimeSeconds', lifetimeSeconds, 600)
    const now = clock.now()
    const secret = keyGenerator.secret('authorization_code', now)
    const expiresAt = now + lifetimeSeconds * 1000
    const granted = { clientId, subject: subject ?? null, redirectUri, scope, codeChallenge }
    const row = { ...granted, expiresAt, redeemedAt: null }
    await storage.insertAuthorizationCode(hashSecret(secret), row, call())
    return { code: secret, expiresAt: new Date(expiresAt) }
  }

  /** The key as it is stored; null when no such key can exist. */
  function toStoredKey(licenseKey: string): string | null {
    return licenseKey.length > 128 ? null : keyGenerator.parseLicenseKey(licenseKey, keyPrefix)
  }

  return {
    async createClient({ name, redirectUris, clientId = keyGenerator.id(clock.now()), clientSecret }) {
      check.demandIdentifier('clientId', clientId)
      check.demandLabel(name)
      check.demandRedirectUris(redirectUris)
      const secret = clientSecret ?? keyGenerator.secret('client_secret', clock.now())
      check.demandSecret(secret)
      const times = { createdAt: clock.now(), revokedAt: null }
      const label = name === undefined ? {} : { name }
      const row = { clientId, secretHashes: [sha256(secret)], redirectUris, ...times, ...label }
      const result = await storage.insertClient(row, call())
      check.demand(result === 'inserted', `clientId: "${clientId}" is taken.`)
      return { clientId, clientSecret: secret }
    },

    async updateClient(clientId, patch) {
      check.demandLabel(patch.name)
      check.demandRedirectUris(patch.redirectUris ?? [])
      return check.isIdentifier(clientId) && storage.updateClient(clientId, patch, call())
    },

    async rotateClientSecret(clientId) {
      const clientSecret = keyGenerator.secret('client_secret', clock.now())
      const rotated =
        check.isIdentifier(clientId) &&
        (await storage.rotateClientSecret(clientId, sha256(clientSecret), call()))
      check.demand(rotated, `clientId: there is no client "${clientId.slice(0, 255)}".`)
      return { clientSecret }
    },

    revokeClient: async (clientId) =>
      check.isIdentifier(clientId) && storage.revokeClient(clientId, clock.now(), call()),

    readAuthorizationRequest: (query, { scopes }) => judgeRequest(query, scopes, findClient),

    async grantAuthorization(asked, { subject, scope = asked.scope } = {}) {
      const { clientId, redirectUri, codeChallenge } = asked
      check.demandScope(scope)
      check.demand(isWithin(scope, asked.scope.split(' ')), 'scope: more than was asked for.')
      const { code } = await issueAuthorizationCode({
        clientId,
        redirectUri,
        scope,
        ...(subject !== undefined && { subject }),
        ...(codeChallenge !== null && { codeChallenge }),
      })
      return { location: locationOf(asked, { code }) }
    },

    denyAuthorization: (asked) => ({ location: locationOf(asked, { error: 'access_denied' }) }),

    issueAuthorizationCode,

    async createReseller({ name, resellerId = keyGenerator.id(clock.now()) } = {}) {
      check.demandIdentifier('resellerId', resellerId)
      check.demandLabel(name)
      const row = { resellerId, createdAt: clock.now(), ...(name !== undefined && { name }) }
      const result = await storage.insertReseller(row, call())
      check.demand(result === 'inserted', `resellerId: "${resellerId}" is taken.`)
      return { resellerId, ...(await createResellerToken(resellerId)) }
    },

    createResellerToken,

    async createAccessToken({ scope, lifetimeSeconds = defaultTokenLifetimeSeconds, clientId, subject }) {
      check.demandScope(scope)
      check.demandInteger('lifetimeSeconds', lifetimeSeconds, 31_536_000)
      check.demandIdentifier('subject', subject)
      if (clientId !== undefined) await requireLiveClient(clientId)
      const expiresAt = clock.now() + lifetimeSeconds * 1000
      const { id, secret } = await insertCredential('access_token', {
        scope,
        expiresAt,
        ...(clientId !== undefined && { ownerId: clientId }),
        ...(subject !== undefined && { subject }),
      })
      return { accessTokenId: id, accessToken: secret, expiresAt: new Date(expiresAt) }
    },

    async createApiKey({ name, permissions = ['blockgame:lookup'] } = {}) {
      const scope = permissions.join(' ')
      const areNames = permissions.every(check.isScopeName) && check.isScope(scope)
      check.demand(areNames, 'permissions must be names without spaces, at most 1024 characters in all.')
      check.demandLabel(name)
      const label = name === undefined ? {} : { name }
      const { id, secret } = await insertCredential('api_key', { scope, expiresAt: null, ...label })
      return { apiKeyId: id, apiKey: secret }
    },

    async revoke(which) {
      if ('secret' in which) {
        return storage.revokeCredential({ hash: hashSecret(which.secret) }, clock.now(), call())
      }
      return check.isIdentifier(which.id) && storage.revokeCredential(which, clock.now(), call())
    },

    async revokeAccess(which) {
      const [name, text] = 'clientId' in which ? ['clientId', which.clientId] : ['subject', which.subject]
      check.demandIdentifier(name, text)
      return storage.revokeAccess(which, clock.now(), call())
    },

    ...listsOf(storage.listing, call),

    async getLicense(licenseKey) {
      const stored = toStoredKey(licenseKey)
      return stored === null ? null : storage.findLicense(stored, call())
    },

    async updateLicense(licenseKey, change) {
      check.demand(Object.keys(change).length > 0, 'There is nothing to change.')
      check.demandLicenseFields(change, parts)
      const stored = toStoredKey(licenseKey)
      return stored !== null && storage.changeLicense(stored, change, clock.now(), call())
    },

    async deleteLicense(licenseKey) {
      const stored = toStoredKey(licenseKey)
      return stored !== null && storage.deleteLicense(stored, call())
    },

    purgeExpired: async () => storage.purgeExpired(clock.now(), callWithin(purgeTimeoutMs)),
  }
}
