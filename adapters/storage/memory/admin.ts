import { StorageError } from 'utility-api/storage'
import type {
  AccessReference,
  CredentialKind,
  CredentialReference,
  PurgeCounts,
  RevokeCounts,
} from 'utility-api/storage'
import type { AdminMethods } from '../shared/closing.ts'
import { changed, copy, copyClient, insertCredential, revoke, toKey, withRoom, type Tables } from './data.ts'

/** Returns the methods for provisioning. */
export function adminMethods(tables: Tables): AdminMethods {
  return {
    insertClient: (client) => {
      const { clients } = withRoom(tables)
      if (clients.has(client.clientId)) return 'taken'
      clients.put(client.clientId, copyClient(client))
      return 'inserted'
    },
    updateClient: (clientId, { name, redirectUris }) => {
      const client = tables.clients.get(clientId)
      if (client === undefined) return false
      const changes = { ...(name !== undefined && { name }), ...(redirectUris && { redirectUris }) }
      tables.clients.put(clientId, copyClient({ ...client, ...changes }))
      return true
    },
    rotateClientSecret: (clientId, newHash) => {
      const client = tables.clients.get(clientId)
      if (client === undefined || client.clientType === 'public') return false
      const secretHashes = [newHash, ...client.secretHashes.slice(0, 1)]
      tables.clients.put(clientId, copyClient({ ...client, secretHashes }))
      return true
    },
    revokeClient: (clientId, at) => {
      const client = tables.clients.get(clientId)
      endCodes(tables, { clientId })
      if (client === undefined || client.revokedAt !== null) return false
      tables.clients.put(clientId, { ...client, revokedAt: at })
      return true
    },
    insertAuthorizationCode: (codeHash, code) => {
      const { clients, codes } = withRoom(tables)
      const revokedAt = clients.get(code.clientId)?.revokedAt ?? null
      if (revokedAt !== null) throw new StorageError('conflict', 'The client is revoked.')
      if (codes.has(toKey(codeHash))) throw new StorageError('conflict', 'The authorization code exists.')
      codes.put(toKey(codeHash), { code: { ...code }, token: '' })
    },
    insertReseller: (reseller) => {
      const { resellers } = withRoom(tables)
      if (resellers.has(reseller.resellerId)) return 'taken'
      resellers.put(reseller.resellerId, { ...reseller })
      return 'inserted'
    },
    findReseller: (resellerId) => copy(tables.resellers.get(resellerId)),
    insertCredential: (kind, hash, credential) => {
      const { resellers } = withRoom(tables)
      if (kind === 'reseller_token' && !resellers.has(credential.ownerId)) return 'no_owner'
      insertCredential(tables, { kind, key: toKey(hash) }, { ...credential })
      return 'inserted'
    },
    revokeCredential: (which, at) => revokeCredential(tables, which, at),
    revokeAccess: (which, at) => revokeAccess(tables, which, at),
    changeLicense: (licenseKey, change, at) => {
      const { licenses } = tables
      const license = licenses.get(licenseKey)
      if (license === undefined) return false
      licenses.put(licenseKey, changed(license, change, at))
      return true
    },
    deleteLicense: (licenseKey) => tables.licenses.delete(licenseKey),
    purgeExpired: (at) => purgeExpired(tables, at),
  }
}

function revokeCredential(tables: Tables, which: CredentialReference, at: number): boolean {
  if ('id' in which) {
    const key = tables.credentialIds.get(which.id)
    return key !== undefined && revoke(tables, key, at)
  }
  const key = toKey(which.hash)
  const kinds = Object.keys(tables.credentials) as CredentialKind[]
  return kinds.map((kind) => revoke(tables, { kind, key }, at)).includes(true)
}

function revokeAccess(tables: Tables, which: AccessReference, at: number): RevokeCounts {
  const [kind, codes] =
    'resellerId' in which
      ? (['reseller_token', 0] as const)
      : (['access_token', endCodes(tables, which)] as const)
  let tokens = 0
  for (const [key, { ownerId, subject }] of tables.credentials[kind].entries())
    if (isOf(which, ownerId, subject) && revoke(tables, { kind, key }, at)) tokens += 1
  return { tokens, codes }
}

function endCodes({ codes }: Tables, which: AccessReference): number {
  return codes.deleteWhere(
    ({ code: { clientId, subject, redeemedAt } }) => redeemedAt === null && isOf(which, clientId, subject),
  )
}

function isOf(which: AccessReference, owner: string, subject: string | null): boolean {
  if ('subject' in which) return subject === which.subject
  return owner === ('clientId' in which ? which.clientId : which.resellerId)
}

function purgeExpired(
  { codes, credentials, credentialIds, idempotencyKeys }: Tables,
  at: number,
): PurgeCounts {
  const { access_token: accessTokens } = credentials
  const tokens = accessTokens.deleteWhere(
    ({ id, expiresAt }) => (expiresAt ?? Infinity) <= at && credentialIds.delete(id),
  )
  return {
    tokens,
    // A spent code stays as long as its token, because without the code, a replay could no longer revoke the token.
    codes: codes.deleteWhere(({ code, token }) => code.expiresAt <= at && !accessTokens.has(token)),
    idempotency: idempotencyKeys.deleteWhere(({ expiresAt }) => expiresAt <= at),
  }
}
