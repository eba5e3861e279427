import {
  defaultTokenLifetimeSeconds,
  isScope,
  isScopeName,
  type Credential,
  type CredentialKind,
} from '../domain/credentials.ts'
import { hashSecret, newSecret } from '../domain/secret.ts'
import type { StorageCall } from '../ports/storage-call.ts'
import { storageCall, type AdminParts } from './admin-parts.ts'
import type { Admin } from './admin.ts'
import { demand } from '../domain/arguments.ts'
import { kindOfSecret } from '../domain/secret.ts'
import {
  demandIdentifier,
  demandInteger,
  demandLabel,
  demandScope,
  isIdentifier,
  uniqueNames,
} from './checks.ts'
import { requireLiveClient } from './clients.ts'

type CredentialMethods = Pick<Admin, 'createAccessToken' | 'createApiKey' | 'revoke' | 'revokeAccess'>

export function credentialMethods(parts: AdminParts): CredentialMethods {
  const { storage, clock } = parts
  return {
    async createAccessToken({ scope, lifetimeSeconds = defaultTokenLifetimeSeconds, clientId, subject }) {
      demandScope(scope)
      demandInteger('lifetimeSeconds', lifetimeSeconds, 31_536_000)
      demandIdentifier('subject', subject)
      const call = storageCall()
      if (clientId !== undefined) await requireLiveClient(parts, clientId, call)
      const expiresAt = clock.now() + lifetimeSeconds * 1000
      const grant = {
        scope: uniqueNames(scope),
        expiresAt,
        ...(clientId !== undefined && { ownerId: clientId }),
        ...(subject !== undefined && { subject }),
      }
      const { id, secret } = await insertCredential(parts, 'access_token', grant, call)
      if (clientId !== undefined) await requireStillLive(parts, clientId, id, call)
      return { accessTokenId: id, accessToken: secret, expiresAt: new Date(expiresAt) }
    },
    async createApiKey({ name, permissions = ['blockgame:lookup'], lifetimeSeconds } = {}) {
      const scope = permissions.join(' ')
      const areNames = permissions.every(isScopeName) && isScope(scope)
      demand(areNames, 'permissions must be names without spaces, at most 1024 characters in all.')
      demandLabel(name)
      const expiresAt = expiryOf('lifetimeSeconds', lifetimeSeconds, clock.now())
      const label = name === undefined ? {} : { name }
      const key = { scope: uniqueNames(scope), expiresAt, ...label }
      const { id, secret } = await insertCredential(parts, 'api_key', key, storageCall())
      return { apiKeyId: id, apiKey: secret }
    },
    async revoke(which) {
      if ('secret' in which) {
        return storage.revokeCredential({ hash: hashSecret(which.secret) }, clock.now(), storageCall())
      }
      // False would pass for "revoked before", and leave a leaked secret valid.
      demand(kindOfSecret(which.id) === undefined, 'id is a secret: write { secret }.')
      return isIdentifier(which.id) && storage.revokeCredential(which, clock.now(), storageCall())
    },
    async revokeAccess(which) {
      for (const [name, text] of Object.entries(which)) demandIdentifier(name, text)
      return storage.revokeAccess(which, clock.now(), storageCall())
    },
  }
}

/**
 * Looks at the client again, once its token is stored, because whoever revoked the client and its access in between has
 * not seen the token. Whoever does it later will.
 */
async function requireStillLive(
  parts: AdminParts,
  clientId: string,
  id: string,
  call: StorageCall,
): Promise<void> {
  try {
    await requireLiveClient(parts, clientId, call)
  } catch (error) {
    await parts.storage.revokeCredential({ id }, parts.clock.now(), call)
    throw error
  }
}

const longestLifetimeSeconds = 10 * 31_536_000

/** Returns when a credential expires that is accepted for so many seconds, or null for one without a lifetime. */
export function expiryOf(name: string, lifetimeSeconds: number | undefined, now: number): number | null {
  if (lifetimeSeconds === undefined) return null
  demandInteger(name, lifetimeSeconds, longestLifetimeSeconds)
  return now + lifetimeSeconds * 1000
}

/** Creates a credential of any kind. Without an owner, it owns itself. */
export async function insertCredential(
  { storage, clock, keyGenerator }: AdminParts,
  kind: CredentialKind,
  credential: Pick<Credential, 'scope' | 'expiresAt' | 'name'> & {
    readonly ownerId?: string
    readonly subject?: string
  },
  call: StorageCall,
): Promise<{ id: string; secret: string }> {
  const now = clock.now()
  const id = keyGenerator.id(now)
  const secret = newSecret(keyGenerator, kind, now)
  const times = { createdAt: now, revokedAt: null }
  const row = { ownerId: id, subject: null, ...credential, ...times, id }
  const result = await storage.insertCredential(kind, hashSecret(secret), row, call)
  demand(result === 'inserted', `resellerId: there is no reseller "${row.ownerId}".`)
  return { id, secret }
}
