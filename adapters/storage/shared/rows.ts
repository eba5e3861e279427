import type {
  AuthorizationCode,
  Client,
  Credential,
  CredentialKind,
  License,
  ListedClient,
  ListedCredential,
  Reseller,
} from 'utility-api/storage'

/** An integer column. Drivers return numbers, or text or bigints for what might exceed them. */
export type IntegerColumn = number | string | bigint

export interface ListedClientRow {
  readonly client_id: string
  readonly redirect_uris: string
  readonly created_at: IntegerColumn
  readonly revoked_at: IntegerColumn | null
  readonly name: string | null
}

export interface ClientRow extends ListedClientRow {
  /** The hashes one after the other, as octets or in hexadecimal. */
  readonly secret_hashes: Uint8Array | string
}

export interface ResellerRow {
  readonly reseller_id: string
  readonly created_at: IntegerColumn
  readonly name: string | null
}

export interface CodeRow {
  readonly client_id: string
  readonly subject: string | null
  readonly redirect_uri: string
  readonly scope: string
  readonly code_challenge: string | null
  readonly expires_at: IntegerColumn
  readonly redeemed_at: IntegerColumn | null
}

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

export interface LicenseRow {
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
  return { ...toListedClient(row), secretHashes: splitHashes(toOctets(row.secret_hashes)) }
}

export function toListedClient(row: ListedClientRow): ListedClient {
  return {
    clientId: row.client_id,
    redirectUris: JSON.parse(row.redirect_uris) as string[],
    createdAt: Number(row.created_at),
    revokedAt: toTime(row.revoked_at),
    ...named(row),
  }
}

export function toReseller(row: ResellerRow): Reseller {
  return { resellerId: row.reseller_id, createdAt: Number(row.created_at), ...named(row) }
}

/** Returns the label. A label that nobody gave is absent. */
function named({ name }: { readonly name: string | null }): { readonly name?: string } {
  return name === null ? {} : { name }
}

/** Joins the hashes of a client's secrets in one column: 32 bytes each, one after the other. */
export function joinHashes(hashes: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(hashes)
}

function toOctets(column: Uint8Array | string): Uint8Array {
  return typeof column === 'string' ? Buffer.from(column, 'hex') : column
}

function splitHashes(joined: Uint8Array): Uint8Array[] {
  const hashes: Uint8Array[] = []
  for (let start = 0; start < joined.length; start += hashLength) {
    hashes.push(new Uint8Array(joined.subarray(start, start + hashLength)))
  }
  return hashes
}

export function toCode(row: CodeRow): AuthorizationCode {
  return {
    clientId: row.client_id,
    subject: row.subject,
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
