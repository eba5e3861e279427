import type { Credential, CredentialKind, ListedCredential, NewAccessToken } from 'utility-api/storage'
import { named, toTime, type ColumnValue, type IntegerColumn } from './columns.ts'

export const credentialColumns: string =
  'id, owner_id, subject, scope, created_at, expires_at, revoked_at, name'
/** The columns of a token that a code has bought: it is live and has no label. */
export const boughtTokenColumns: string = 'id, hash, owner_id, subject, scope, created_at, expires_at'

export interface CredentialRow {
  readonly id: string
  readonly owner_id: string
  readonly subject: string | null
  readonly scope: string
  readonly created_at: IntegerColumn
  readonly expires_at: IntegerColumn | null
  readonly revoked_at: IntegerColumn | null
  readonly name: string | null
}

export interface ListedCredentialRow extends CredentialRow {
  readonly kind: CredentialKind
}

/** Returns the values of {@link credentialColumns}. */
export function credentialValues(credential: Credential): ColumnValue[] {
  const { id, ownerId, subject, scope, createdAt, expiresAt, revokedAt, name = null } = credential
  return [id, ownerId, subject, scope, createdAt, expiresAt, revokedAt, name]
}

/** Returns the values of {@link boughtTokenColumns}. */
export function boughtTokenValues(token: NewAccessToken): ColumnValue[] {
  const { id, hash, ownerId, subject, scope, createdAt, expiresAt } = token
  return [id, hash, ownerId, subject, scope, createdAt, expiresAt]
}

export function toCredential(row: CredentialRow): Credential {
  return {
    id: row.id,
    ownerId: row.owner_id,
    subject: row.subject,
    scope: row.scope,
    createdAt: Number(row.created_at),
    expiresAt: toTime(row.expires_at),
    revokedAt: toTime(row.revoked_at),
    ...named(row),
  }
}

export function toListedCredential(row: ListedCredentialRow): ListedCredential {
  return { ...toCredential(row), kind: row.kind }
}
