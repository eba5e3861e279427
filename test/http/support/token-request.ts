import type { UtilityApi } from 'utility-api'
import { expect } from 'vitest'
import { grantFields, type Grantee } from './grant.ts'
import { sendToFetch } from './send.ts'
import type { TestRequest } from './surfaces.ts'
import { redirectUri, type World } from './world.ts'

export type TokenFields = Record<string, unknown>

/** The fields of a valid exchange, with a code of its own; undefined takes a field out. */
export async function tokenFields(world: World, changes: TokenFields = {}): Promise<TokenFields> {
  const { code, ...others } = changes
  return {
    ...grantFields(world, '', redirectUri),
    code: 'code' in changes ? code : await world.issueCode(),
    ...others,
  }
}

/** The token that a code buys; null where it is refused. */
export async function exchange(api: UtilityApi, client: Grantee, code: string): Promise<string | null> {
  const answer = await sendToFetch(api, jsonRequest(grantFields(client, code, redirectUri)))
  const body = answer.json as { access_token?: string; error: string }
  if (answer.status === 200) return body.access_token ?? 'none'
  expect(['invalid_grant', 'invalid_client']).toContain(body.error)
  return null
}

const endpoint = { method: 'POST', path: '/v4/oauth2/token' }

export function jsonRequest(fields: TokenFields, headers: Record<string, string> = {}): TestRequest {
  return rawRequest(JSON.stringify(fields), { 'Content-Type': 'application/json', ...headers })
}

export function formRequest(fields: TokenFields, headers: Record<string, string> = {}): TestRequest {
  const pairs = Object.entries(fields).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  )
  const body = new URLSearchParams(pairs).toString()
  return rawRequest(body, { 'Content-Type': 'application/x-www-form-urlencoded', ...headers })
}

export function rawRequest(
  body: string | Uint8Array,
  headers: Record<string, string | string[]>,
): TestRequest {
  return { ...endpoint, headers, body }
}

/** HTTP Basic client credentials, both halves form-encoded as RFC 6749 section 2.3.1 wants it. */
export function basic(clientId: string, clientSecret: string): { Authorization: string } {
  const encode = (text: string): string => new URLSearchParams([['', text]]).toString().slice(1)
  return {
    Authorization: `Basic ${Buffer.from(`${encode(clientId)}:${encode(clientSecret)}`).toString('base64')}`,
  }
}
