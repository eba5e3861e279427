import type { Client, ClientPatch, ListedClient } from 'utility-api/storage'
import { named, toTime, type ColumnValue, type IntegerColumn } from './columns.ts'

export const clientColumns: string = 'client_id, secret_hashes, redirect_uris, created_at, revoked_at, name'
export const listedClientColumns: string = 'client_id, redirect_uris, created_at, revoked_at, name'

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

/** Returns the values of {@link clientColumns}. */
export function clientValues(client: Client): ColumnValue[] {
  const { clientId, secretHashes, redirectUris, createdAt, revokedAt, name = null } = client
  return [clientId, joinHashes(secretHashes), JSON.stringify(redirectUris), createdAt, revokedAt, name]
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
