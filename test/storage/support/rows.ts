import type { AuthorizationCode, Client, Credential, NewAccessToken } from 'utility-api/storage'

/** A client without a secret. */
export function newClient(clientId: string, fields: Partial<Client> = {}): Client {
  return { clientId, secretHashes: [], redirectUris: [], createdAt: 1, revokedAt: null, ...fields }
}

/** An unspent code of this client. */
export function newCode(clientId: string, fields: Partial<AuthorizationCode> = {}): AuthorizationCode {
  const granted = { clientId, subject: null, redirectUri: 'https://shop.example/', scope: '' }
  return { ...granted, codeChallenge: null, expiresAt: 2 ** 41, redeemedAt: null, ...fields }
}

/** The token that a code is exchanged for. */
export function newToken(id: string, hash: Uint8Array, fields: Partial<NewAccessToken> = {}): NewAccessToken {
  return { id, hash, ownerId: 'client', subject: null, scope: '', createdAt: 1, expiresAt: 99, ...fields }
}

/** A credential of a reseller, without an end. */
export function newCredential(id: string, fields: Partial<Credential> = {}): Credential {
  const owner = { ownerId: 'r', subject: null, scope: '' }
  return { id, ...owner, createdAt: 1, expiresAt: null, revokedAt: null, ...fields }
}
