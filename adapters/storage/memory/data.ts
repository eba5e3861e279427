import { StorageError } from 'utility-api/storage'
import type {
  AuthorizationCode,
  Client,
  Credential,
  CredentialKind,
  Compared,
  LicenseChange,
  NewLicense,
  Reseller,
} from 'utility-api/storage'
import { createTable, type Table } from './table.ts'

/**
 * The maximum number of rows of all kinds together. More are refused, so that a forgotten trial cannot use up the
 * machine's memory.
 */
const maxRows = 1_000_000

export interface StoredCode {
  readonly code: AuthorizationCode
  /** The key of the access token it bought; `''` while it is unspent. */
  readonly token: string
}

export interface StoredIdempotencyKey {
  readonly licenseKey: string
  readonly requestHash: Uint8Array
  readonly expiresAt: number
}

/** Which row a credential is. */
export interface CredentialKey {
  readonly kind: CredentialKind
  readonly key: string
}

export interface Tables {
  readonly clients: Table<Client>
  readonly resellers: Table<Reseller>
  readonly codes: Table<StoredCode>
  /** Keyed by hash. */
  readonly credentials: Readonly<Record<CredentialKind, Table<Credential>>>
  readonly credentialIds: Table<CredentialKey>
  /** The day of the last use, by the id of the credential. Absent for one that was never used. */
  readonly lastUses: Map<string, number>
  readonly licenses: Table<NewLicense>
  readonly idempotencyKeys: Table<StoredIdempotencyKey>
}

export function createTables(): Tables {
  return {
    clients: createTable(),
    resellers: createTable(),
    codes: createTable(),
    credentials: { access_token: createTable(), reseller_token: createTable(), api_key: createTable() },
    credentialIds: createTable(),
    lastUses: new Map(),
    licenses: createTable(),
    idempotencyKeys: createTable(),
  }
}

/** Returns the tables if there is room for another row. */
export function withRoom(tables: Tables): Tables {
  const { clients, resellers, codes, credentialIds, licenses, idempotencyKeys } = tables
  const provisioned = clients.size + resellers.size + codes.size + credentialIds.size
  if (provisioned + licenses.size + idempotencyKeys.size < maxRows) return tables
  throw new StorageError('unavailable', `The memory storage is full: it holds ${maxRows} rows.`)
}

/** Copies a row that holds only text and numbers. */
export function copy<Row extends object>(row: Row | undefined): Row | null {
  return row === undefined ? null : { ...row }
}

export function copyClient(client: Client): Client {
  const secretHashes = client.secretHashes.map((each) => Uint8Array.from(each))
  return { ...client, secretHashes, redirectUris: [...client.redirectUris] }
}

export function toKey(hash: Uint8Array): string {
  return (Buffer.isBuffer(hash) ? hash : Buffer.from(hash)).toString('latin1')
}

/** Returns the license with the fields that were sent. */
export function changed(license: NewLicense, change: Compared<LicenseChange>, at: number): NewLicense {
  const copied: { -readonly [Field in keyof NewLicense]: NewLicense[Field] } = { ...license, updatedAt: at }
  for (const field of Object.keys(change) as (keyof typeof change)[]) put(copied, field, change[field])
  return copied
}

function put<Row, Field extends keyof Row>(row: Row, field: Field, value: Row[Field] | undefined): void {
  if (value !== undefined) row[field] = value
}

export function insertCredential(tables: Tables, { kind, key }: CredentialKey, credential: Credential): void {
  const credentials = tables.credentials[kind]
  if (credentials.has(key) || tables.credentialIds.has(credential.id)) {
    throw new StorageError('conflict', 'The credential exists.')
  }
  credentials.put(key, credential)
  tables.credentialIds.put(credential.id, { kind, key })
}

export function revoke(tables: Tables, { kind, key }: CredentialKey, at: number): boolean {
  const credential = tables.credentials[kind].get(key)
  if (credential === undefined || credential.revokedAt !== null) return false
  tables.credentials[kind].put(key, { ...credential, revokedAt: at })
  return true
}
