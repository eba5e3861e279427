import { randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server } from 'node:http'
import { hashSecret } from '../../src/domain/secret.ts'

interface ClientRow {
  readonly secret_hashes: Buffer
}

interface CodeRow {
  readonly client_id: string
  readonly redirect_uri: string
  readonly scope: string
  readonly expires_at: number | string
  readonly redeemed_at: number | string | null
}

/** What the server by hand asks of a database: the library's own statements, prepared, one at a time. */
export interface DatabaseByHand {
  findClient(clientId: string): Promise<ClientRow | undefined>
  findCode(hash: Uint8Array): Promise<CodeRow | undefined>
  /** Spends the code and inserts its token, or says that somebody else has spent it. */
  redeemCode(
    codeHash: Uint8Array,
    at: number,
    tokenHash: Uint8Array,
    token: readonly unknown[],
  ): Promise<boolean>
  findReseller(tokenHash: Uint8Array): Promise<string | undefined>
  insertLicense(license: readonly unknown[]): Promise<unknown>
  renameLicense(key: string, reseller: string, at: number, name: string | null): Promise<boolean>
}

interface Fields {
  readonly code: string
  readonly redirect_uri: string
  readonly client_id: string
  readonly client_secret: string
}

/** The least that does the work, with no checks beyond those the answer depends on. */
export function byHand(database: DatabaseByHand): Server {
  let last = 0
  function resellerOf({ authorization = '' }: IncomingHttpHeaders): Promise<string | undefined> {
    return database.findReseller(hashSecret(authorization.slice('Bearer '.length)))
  }
  async function exchange(request: IncomingMessage): Promise<object | null> {
    const { code, redirect_uri, client_id, client_secret } = JSON.parse(await bodyOf(request)) as Fields
    const client = await database.findClient(client_id)
    const secretHash = hashSecret(client_secret)
    if (client === undefined || !timingSafeEqual(client.secret_hashes, secretHash)) return null
    const codeHash = hashSecret(code)
    const found = await database.findCode(codeHash)
    const at = Date.now()
    if (found === undefined || found.redeemed_at !== null || Number(found.expires_at) <= at) return null
    if (found.client_id !== client_id || found.redirect_uri !== redirect_uri) return null
    const access_token = randomBytes(36).toString('base64url')
    const tokenHash = hashSecret(access_token)
    const id = `hand-${process.pid}-${(last += 1)}`
    const token = [id, tokenHash, client_id, null, found.scope, at, at + 3_600_000]
    const isSpent = await database.redeemCode(codeHash, at, tokenHash, token)
    return isSpent ? { access_token, expires_in: 3600, scope: found.scope, token_type: 'Bearer' } : null
  }
  async function generate({ headers }: IncomingMessage): Promise<object | null> {
    const reseller = await resellerOf(headers)
    if (reseller === undefined) return null
    const { 'x-registered-to': registered_to, 'x-domain-or-ip': domain_or_ip, 'x-status': status } = headers
    const license_key = `LIC-${randomBytes(15).toString('hex')}`
    const at = Date.now()
    // It has no reference and no end.
    const license = [license_key, registered_to, domain_or_ip, status, reseller, at, at, null, null]
    // The domain is in its compared form already.
    await database.insertLicense([...license, domain_or_ip])
    return { message: 'License generated.', data: { registered_to, domain_or_ip, license_key, status } }
  }
  async function update({ headers, url = '' }: IncomingMessage): Promise<object | null> {
    const reseller = await resellerOf(headers)
    if (reseller === undefined) return null
    const key = url.split('/')[3] ?? ''
    const { 'x-registered-to': name = null } = headers
    const isUpdated = await database.renameLicense(key, reseller, Date.now(), name as string | null)
    return isUpdated ? { message: 'License updated.' } : null
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
