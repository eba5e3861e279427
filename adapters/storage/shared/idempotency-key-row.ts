import type { License, NewIdempotencyKey } from 'utility-api/storage'
import type { ColumnValue } from './columns.ts'

export const idempotencyKeyColumns: string = 'reseller_id, key_hash, request_hash, license, expires_at'

export interface IdempotencyKeyRow {
  readonly license: string
  readonly request_hash: Uint8Array
}

/** Returns the values of {@link idempotencyKeyColumns}. */
export function idempotencyKeyValues(key: NewIdempotencyKey, license: License): ColumnValue[] {
  const { resellerId, keyHash, requestHash, expiresAt } = key
  return [resellerId, keyHash, requestHash, JSON.stringify(license), expiresAt]
}

/** Returns the license that was created with the key, as it was then, and the request it came with. */
export function toIdempotencyKey(row: IdempotencyKeyRow): { replay: License; requestHash: Uint8Array } {
  return { replay: JSON.parse(row.license) as License, requestHash: Uint8Array.from(row.request_hash) }
}
