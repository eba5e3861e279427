import type {
  AuthorizationCode,
  Client,
  ClientPatch,
  Compared,
  Credential,
  License,
  LicenseChange,
  LicensePatch,
  LicenseUpdate,
  ListedClient,
  ListedCredential,
  NewAccessToken,
  NewIdempotencyKey,
  NewLicense,
  Reseller,
} from 'utility-api/storage'

/** Each kind of row, described once: its columns, the values of these columns, and how a row is read. */

/** A value bound to a statement: what every driver takes. */
export type ColumnValue = string | number | Uint8Array | null

/** An integer column. Drivers return numbers, or text or bigints for what might exceed them. */
export type IntegerColumn = number | string | bigint

/** A row of a value, as drivers return it: a list is JSON, and what is absent is null. */
type RowOf<Value> = {
  readonly [Field in keyof Value as ColumnOf<Field>]-?: StoredAs<Value[Field]>
}

/** The column of a field: `created_at` of `createdAt`. */
type ColumnOf<Field> = Field extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${ColumnOf<Rest>}`
  : ''

type StoredAs<Value> = Value extends number
  ? IntegerColumn
  : Value extends readonly string[]
    ? string
    : Value extends undefined
      ? null
      : Value

function toTime(column: IntegerColumn | null): number | null {
  return column === null ? null : Number(column)
}

/** Returns the label. A label that nobody gave is absent. */
function named({ name }: { readonly name: string | null }): { readonly name?: string } {
  return name === null ? {} : { name }
}

/** Returns a `?` for each column. */
export function placeholders(columns: string): string {
  return columns.replaceAll(/\w+/g, '?')
}

export const clientColumns: string =
  'client_id, secret_hashes, redirect_uris, created_at, revoked_at, name, client_type'
export const listedClientColumns: string =
  'client_id, redirect_uris, created_at, revoked_at, name, client_type'

export type ListedClientRow = RowOf<ListedClient>

export interface ClientRow extends ListedClientRow {
  /** The hashes one after the other, as octets or in hexadecimal. */
  readonly secret_hashes: Uint8Array | string
}

/** Returns the values of {@link clientColumns}. */
export function clientValues(client: Client): ColumnValue[] {
  const { clientId, createdAt, revokedAt, name = null, clientType = null } = client
  const [hashes, uris] = [joinHashes(client.secretHashes), JSON.stringify(client.redirectUris)]
  return [clientId, hashes, uris, createdAt, revokedAt, name, clientType]
}

/** Returns the name and the redirection URIs of a patch. What was not sent is null. */
export function clientPatchValues(patch: ClientPatch): ColumnValue[] {
  const { name = null, redirectUris } = patch
  return [name, redirectUris === undefined ? null : JSON.stringify(redirectUris)]
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
    ...(row.client_type !== null && { clientType: row.client_type }),
  }
}

const hashLength = 32

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

export const resellerColumns: string = 'reseller_id, created_at, name'

export type ResellerRow = RowOf<Reseller>

/** Returns the values of {@link resellerColumns}. */
export function resellerValues(reseller: Reseller): ColumnValue[] {
  const { resellerId, createdAt, name = null } = reseller
  return [resellerId, createdAt, name]
}

export function toReseller(row: ResellerRow): Reseller {
  return { resellerId: row.reseller_id, createdAt: Number(row.created_at), ...named(row) }
}

export const codeColumns: string =
  'client_id, subject, redirect_uri, scope, code_challenge, expires_at, redeemed_at'

export type CodeRow = RowOf<AuthorizationCode>

/** Returns the values of {@link codeColumns}. */
export function codeValues(code: AuthorizationCode): ColumnValue[] {
  const { clientId, subject, redirectUri, scope, codeChallenge, expiresAt, redeemedAt } = code
  return [clientId, subject, redirectUri, scope, codeChallenge, expiresAt, redeemedAt]
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

export const credentialColumns: string =
  'id, owner_id, subject, scope, created_at, expires_at, revoked_at, name'
/** The columns of a token that a code has bought. It is live and has no label. */
export const boughtTokenColumns: string = 'id, hash, owner_id, subject, scope, created_at, expires_at'

export type CredentialRow = RowOf<Credential>

export const listedCredentialColumns: string = `kind, ${credentialColumns}, last_used_on`

export type ListedCredentialRow = RowOf<ListedCredential>

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

/** A code that is spent for a token. */
export interface Redemption {
  readonly codeHash: Uint8Array
  readonly at: number
  readonly token: NewAccessToken
}

/** Returns the code, the time and the values of {@link boughtTokenColumns}. */
export function redemptionValues({ codeHash, at, token }: Redemption): ColumnValue[] {
  return [codeHash, at, ...boughtTokenValues(token)]
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
  return { ...toCredential(row), kind: row.kind, lastUsedOn: toTime(row.last_used_on) }
}

export const licenseColumns: string =
  'license_key, registered_to, domain_or_ip, status, reseller_id, created_at, updated_at, reference, expires_at'
/** The columns of a new license. */
export const newLicenseColumns: string = `${licenseColumns}, compared_domain`

export type LicenseRow = RowOf<License>

/** Returns the values of {@link newLicenseColumns}. */
export function licenseValues(license: NewLicense): ColumnValue[] {
  const { licenseKey, registeredTo, domainOrIp, status, resellerId, createdAt, updatedAt } = license
  const fields = [licenseKey, registeredTo, domainOrIp, status, resellerId, createdAt, updatedAt]
  return [...fields, license.reference, license.expiresAt, license.comparedDomain]
}

/** Returns the values that a reseller may change: name, domain, status, compared domain. What was not sent is null. */
export function licensePatchValues(patch: Compared<LicensePatch>): ColumnValue[] {
  const { registeredTo = null, domainOrIp = null, status = null, comparedDomain = null } = patch
  return [registeredTo, domainOrIp, status, comparedDomain]
}

/** Returns which license is changed, whose it must be, the time, and the values of its patch. */
export function licenseUpdateValues({ licenseKey, resellerId, at, patch }: LicenseUpdate): ColumnValue[] {
  return [licenseKey, resellerId, at, ...licensePatchValues(patch)]
}

/**
 * Returns the values that the owner of the service may change: reseller, reference and end come last. For what is taken
 * away, these have a value that no license has.
 */
export function licenseChangeValues(change: Compared<LicenseChange>): ColumnValue[] {
  const { resellerId = null, reference, expiresAt } = change
  return [...licensePatchValues(change), resellerId, sent(reference, ''), sent(expiresAt, -1)]
}

function sent<Value>(value: Value | null | undefined, takenAway: Value): Value | null {
  return value === undefined ? null : (value ?? takenAway)
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
    reference: row.reference,
    expiresAt: toTime(row.expires_at),
  }
}

/** Returns a license as it was given to the store, without what is only the store's. */
export function withoutCompared({ comparedDomain: _, ...license }: NewLicense): License {
  return license
}

export const idempotencyKeyColumns: string = 'reseller_id, key_hash, request_hash, license_key, expires_at'

export interface IdempotencyKeyRow {
  readonly license_key: string
  readonly request_hash: Uint8Array
}

/** Returns the values of {@link idempotencyKeyColumns}. */
export function idempotencyKeyValues(key: NewIdempotencyKey, license: NewLicense): ColumnValue[] {
  const { resellerId, keyHash, requestHash, expiresAt } = key
  return [resellerId, keyHash, requestHash, license.licenseKey, expiresAt]
}

/** Returns the key of the license that was created with the idempotency key, and the request it came with. */
export function toIdempotencyKey(row: IdempotencyKeyRow): { replay: string; requestHash: Uint8Array } {
  return { replay: row.license_key, requestHash: Uint8Array.from(row.request_hash) }
}
