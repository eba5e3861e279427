import { StorageError } from 'utility-api/storage'
import type { AuthorizationCode, Client, Credential, License, LicenseList } from 'utility-api/storage'

/** An integer column: drivers hand over numbers, or text or bigints for what might exceed them. */
type IntegerColumn = number | string | bigint

export interface ClientRow {
  readonly client_id: string
  readonly secret_hashes: Uint8Array
  readonly redirect_uris: string
  readonly revoked_at: IntegerColumn | null
  readonly name: string | null
}

export interface CodeRow {
  readonly client_id: string
  readonly redirect_uri: string
  readonly scope: string
  readonly code_challenge: string | null
  readonly expires_at: IntegerColumn
  readonly redeemed_at: IntegerColumn | null
}

export interface CredentialRow {
  readonly id: string
  readonly owner_id: string
  readonly scope: string
  readonly expires_at: IntegerColumn | null
  readonly revoked_at: IntegerColumn | null
  readonly name: string | null
}

export interface LicenseRow {
  readonly seq: IntegerColumn
  readonly license_key: string
  readonly registered_to: string
  readonly domain_or_ip: string
  readonly status: string
  readonly reseller_id: string
  readonly created_at: IntegerColumn
  readonly updated_at: IntegerColumn
}

export interface AnswerRow {
  readonly license: string
  readonly request_hash: Uint8Array
}

const hashLength = 32

function toTime(column: IntegerColumn | null): number | null {
  return column === null ? null : Number(column)
}

export function toClient(row: ClientRow): Client {
  return {
    clientId: row.client_id,
    secretHashes: splitHashes(row.secret_hashes),
    redirectUris: JSON.parse(row.redirect_uris) as string[],
    revokedAt: toTime(row.revoked_at),
    ...(row.name === null ? {} : { name: row.name }),
  }
}

/** The hashes of a client's secrets in one column: 32 bytes each, one after the other. */
export function joinHashes(hashes: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(hashes)
}

function splitHashes(joined: Uint8Array): Uint8Array[] {
  const hashes: Uint8Array[] = []
  for (let start = 0; start < joined.length; start += hashLength) {
    hashes.push(Uint8Array.from(joined.subarray(start, start + hashLength)))
  }
  return hashes
}

export function toCode(row: CodeRow): AuthorizationCode {
  return {
    clientId: row.client_id,
    redirectUri: row.redirect_uri,
    scope: row.scope,
    codeChallenge: row.code_challenge,
    expiresAt: Number(row.expires_at),
    redeemedAt: toTime(row.redeemed_at),
  }
}

export function toCredential(row: CredentialRow): Credential {
  return {
    id: row.id,
    ownerId: row.owner_id,
    scope: row.scope,
    expiresAt: toTime(row.expires_at),
    revokedAt: toTime(row.revoked_at),
    ...(row.name === null ? {} : { name: row.name }),
  }
}

export function toLicense(row: LicenseRow): License {
  return {
    licenseKey: row.license_key,
    registeredTo: row.registered_to,
    domainOrIp: row.domain_or_ip,
    status: row.status,
    resellerId: row.reseller_id,
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
  }
}

export function toReplay(row: AnswerRow): { replay: License; requestHash: Uint8Array } {
  return { replay: JSON.parse(row.license) as License, requestHash: Uint8Array.from(row.request_hash) }
}

/** The place in the list of licences that a page mark names: the `seq` of the last licence seen. */
export function toSeq(after: string | undefined): number {
  if (after === undefined) return 0
  if (/^\d{1,15}$/.test(after)) return Number(after)
  throw new StorageError('invalid', 'This is no place in the list of licences.')
}

/** A page of rows of which one more was read than fit, to see whether there is a next page. */
export function toPage(rows: readonly LicenseRow[], limit: number): LicenseList {
  const licenses = rows.slice(0, limit).map(toLicense)
  const last = rows[limit - 1]
  return rows.length > limit && last !== undefined ? { licenses, next: String(last.seq) } : { licenses }
}
