import type { AuthorizationCode } from 'utility-api/storage'
import { toTime, type ColumnValue, type IntegerColumn } from './columns.ts'

export const codeColumns: string =
  'client_id, subject, redirect_uri, scope, code_challenge, expires_at, redeemed_at'

export interface CodeRow {
  readonly client_id: string
  readonly subject: string | null
  readonly redirect_uri: string
  readonly scope: string
  readonly code_challenge: string | null
  readonly expires_at: IntegerColumn
  readonly redeemed_at: IntegerColumn | null
}

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
