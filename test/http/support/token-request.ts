import type { TestRequest } from './surfaces.ts'
import { redirectUri, type World } from './world.ts'

export type TokenFields = Record<string, unknown>

/** The fields of a valid exchange, with a code of its own; undefined takes a field out. */
export async function tokenFields(world: World, changes: TokenFields = {}): Promise<TokenFields> {
  return {
    grant_type: 'authorization_code',
    code: 'code' in changes ? changes['code'] : await world.issueCode(),
    redirect_uri: redirectUri,
    client_id: world.clientId,
    client_secret: world.clientSecret,
    ...changes,
  }
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
