import type { Reseller } from 'utility-api/storage'
import { named, type ColumnValue, type IntegerColumn } from './columns.ts'

export const resellerColumns: string = 'reseller_id, created_at, name'

export interface ResellerRow {
  readonly reseller_id: string
  readonly created_at: IntegerColumn
  readonly name: string | null
}

/** Returns the values of {@link resellerColumns}. */
export function resellerValues(reseller: Reseller): ColumnValue[] {
  const { resellerId, createdAt, name = null } = reseller
  return [resellerId, createdAt, name]
}

export function toReseller(row: ResellerRow): Reseller {
  return { resellerId: row.reseller_id, createdAt: Number(row.created_at), ...named(row) }
}
