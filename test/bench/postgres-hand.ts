import { randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server } from 'node:http'
import type { Pool, QueryResult } from 'pg'
import * as sql from '../../adapters/storage/postgres/sql.ts'
import { hashSecret } from '../../src/domain/secret.ts'

interface ClientRow {
  readonly secret_hashes: Buffer
}
interface CodeRow {
  readonly client_id: string
  readonly redirect_uri: string
  readonly scope: string
  readonly expires_at: string
  readonly redeemed_at: string | null
}
interface Fields {
  readonly code: string
  readonly redirect_uri: string
  readonly client_id: string
  readonly client_secret: string
}

/** The least that does the work: the same statements, prepared, and no checks beyond those the answer depends on. */
export function byHand(pool: Pool): Server {
  let last = 0
  function run<Row extends object>(
    name: string,
    text: string,
    ...values: unknown[]
  ): Promise<QueryResult<Row>> {
    return pool.query<Row>({ name, text, values })
  }
  async function resellerOf({ authorization = '' }: IncomingHttpHeaders): Promise<string | undefined> {
    const hash = hashSecret(authorization.slice('Bearer '.length))
    const { rows } = await run<{ owner_id: string }>(
      'credential',
      sql.findCredential.one,
      hash,
      'reseller_token',
    )
    return rows[0]?.owner_id
  }
  async function exchange(request: IncomingMessage): Promise<object | null> {
    const { code, redirect_uri, client_id, client_secret } = JSON.parse(await bodyOf(request)) as Fields
    const client = (await run<ClientRow>('client', sql.findClient.one, client_id)).rows[0]
    const secretHash = hashSecret(client_secret)
    if (client === undefined || !timingSafeEqual(client.secret_hashes, secretHash)) return null
    const codeHash = hashSecret(code)
    const found = (await run<CodeRow>('code', sql.findCode.one, codeHash)).rows[0]
    const at = Date.now()
    if (found === undefined || found.redeemed_at !== null || Number(found.expires_at) <= at) return null
    if (found.client_id !== client_id || found.redirect_uri !== redirect_uri) return null
    const access_token = randomBytes(36).toString('base64url')
    const token = [
      `hand-${process.pid}-${(last += 1)}`,
      hashSecret(access_token),
      client_id,
      null,
      found.scope,
    ]
    const { rowCount } = await run('redeem', sql.redeemCode, codeHash, at, ...token, at, at + 3_600_000)
    return rowCount === 1
      ? { access_token, expires_in: 3600, scope: found.scope, token_type: 'Bearer' }
      : null
  }
  async function generate({ headers }: IncomingMessage): Promise<object | null> {
    const reseller = await resellerOf(headers)
    if (reseller === undefined) return null
    const { 'x-registered-to': registered_to, 'x-domain-or-ip': domain_or_ip, 'x-status': status } = headers
    const license_key = `LIC-${randomBytes(15).toString('hex')}`
    const at = Date.now()
    const license = [license_key, registered_to, domain_or_ip, status, reseller, at, at]
    // The domain is in its compared form already.
    await run('insert', sql.insertLicense, ...license, domain_or_ip, domain_or_ip)
    return { message: 'License generated.', data: { registered_to, domain_or_ip, license_key, status } }
  }
  async function update({ headers, url = '' }: IncomingMessage): Promise<object | null> {
    const reseller = await resellerOf(headers)
    const key = url.split('/')[3]
    const { 'x-registered-to': name = null } = headers
    const patch = [name, null, null, null, null]
    const { rowCount } = await run('update', sql.updateLicense, key, reseller, Date.now(), ...patch)
    return rowCount === 1 ? { message: 'License updated.' } : null
  }
  return createServer(async (request, response) => {
    const work = request.method === 'PUT' ? update : request.url === '/v4/oauth2/token' ? exchange : generate
    const answer = await work(request)
    const body = JSON.stringify(answer ?? {})
    const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
    response.writeHead(answer === null ? 400 : 200, headers).end(body)
  })
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += String(chunk)
  return text
}
