import { callWithin } from 'utility-api/storage'
import { createHash, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import Database from 'better-sqlite3'
import { createUtilityApi, randomKeys } from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import { sqliteStorage } from 'utility-api/storage/sqlite'
import * as sql from '../../adapters/storage/sqlite/sql.ts'
import { hashSecret } from '../../src/domain/secret.ts'
import { clientCount, clientIdOf, readExchanges, redirectUri, secretOf } from './tokens-load.ts'

const clientIds = Array.from({ length: clientCount }, (_, number) => clientIdOf(number))
const tokenCount = Number(process.env['TOKENS'] ?? 200_000)

const path = '/v4/oauth2/token'
const sha256 = (input: string): Buffer => createHash('sha256').update(input).digest()

/** A store with the clients, all codes and older tokens; every code and token has a subject of its own. */
async function fill(file: string, exchanges: string): Promise<void> {
  const database = new Database(file)
  const storage = sqliteStorage(database)
  await storage.migrate()
  const call = callWithin(Infinity)
  const row = { redirectUris: [redirectUri], createdAt: 0, revokedAt: null }
  for (const clientId of clientIds) {
    await storage.insertClient({ clientId, secretHashes: [sha256(secretOf(clientId))], ...row }, call)
  }
  const insertToken = database.prepare(
    `INSERT INTO utility_api_credentials (id, kind, hash, owner_id, subject, scope, created_at, expires_at)
     VALUES (?, 'access_token', ?, ?, ?, '', ?, ?)`,
  )
  const insertCode = database.prepare(sql.insertCode)
  const keys = randomKeys()
  const start = Date.now() - tokenCount
  database.transaction(() => {
    for (let index = 0; index < tokenCount; index += 1) {
      const hash = hashSecret(keys.secret('access_token', start + index))
      const clientId = clientIdOf(index % clientCount)
      const expiresAt = start + index + 3_600_000
      insertToken.run(keys.id(start + index), hash, clientId, randomUUID(), start + index, expiresAt)
    }
    for (const { code, clientId } of readExchanges(exchanges)) {
      const expiresAt = Date.now() + 3_600_000
      const granted = [clientId, randomUUID(), redirectUri, 'dns:check', null, expiresAt, null]
      insertCode.run(hashSecret(code), ...granted, clientId)
    }
  })()
  database.pragma('wal_checkpoint(TRUNCATE)')
  database.close()
}

interface Body {
  readonly grant_type: string
  readonly code: string
  readonly redirect_uri: string
  readonly client_id: string
  readonly client_secret: string
}

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

function timeOf(secret: string): number {
  let time = 0
  for (let index = 8; index < 17; index += 1) time = time * 62 + base62.indexOf(secret[index] ?? '')
  return time
}

/** Six octets of time, then the hash, for rows that are appended. */
function orderedKey(secret: string, time: number): Buffer {
  const key = sha256(secret)
  key.writeUIntBE(time, 0, 6)
  return key
}

/** The floor's own tables: no table beside its primary key, and one index, for purging. */
function fillByHand(file: string, exchanges: string): void {
  const database = new Database(file)
  database.pragma('journal_mode = WAL')
  database.exec(`
    CREATE TABLE codes (
      hash BLOB PRIMARY KEY, client_id TEXT NOT NULL, subject TEXT NOT NULL, redirect_uri TEXT NOT NULL,
      scope TEXT NOT NULL, expires_at INTEGER NOT NULL, redeemed_at INTEGER, token_hash BLOB
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE tokens (
      hash BLOB PRIMARY KEY, client_id TEXT NOT NULL, subject TEXT NOT NULL, scope TEXT NOT NULL,
      expires_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX tokens_expires_at ON tokens (expires_at);`)
  const insertToken = database.prepare("INSERT INTO tokens VALUES (?, ?, ?, '', ?)")
  const insertCode = database.prepare(
    'INSERT INTO codes (hash, client_id, subject, redirect_uri, scope, expires_at) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const start = Date.now() - tokenCount
  database.transaction(() => {
    for (let index = 0; index < tokenCount; index += 1) {
      const key = orderedKey(randomUUID(), start + index)
      insertToken.run(key, clientIdOf(index % clientCount), randomUUID(), start + index + 3_600_000)
    }
    for (const { code, clientId } of readExchanges(exchanges)) {
      const key = orderedKey(code, timeOf(code))
      insertCode.run(key, clientId, randomUUID(), redirectUri, 'dns:check', Date.now() + 3_600_000)
    }
  })()
  database.pragma('wal_checkpoint(TRUNCATE)')
  database.close()
}

/** The least that does the work durably: two statements and a share of a commit, no checks but those the answer depends on. */
function byHand(database: Database.Database): Server {
  database.pragma('synchronous = FULL')
  database.pragma('cache_size = -16000')
  const secretHashes = new Map(clientIds.map((clientId) => [clientId, sha256(secretOf(clientId))]))
  const spend = database.prepare(
    `UPDATE codes SET redeemed_at = ?, token_hash = ?
     WHERE hash = ? AND redeemed_at IS NULL AND client_id = ? AND redirect_uri = ? AND expires_at > ?
     RETURNING subject, scope`,
  )
  const insert = database.prepare('INSERT INTO tokens VALUES (?, ?, ?, ?, ?)')
  interface Waiting {
    readonly body: Body
    readonly response: ServerResponse
    answer: object
    status: number
  }
  let waiting: Waiting[] = []
  const redeemAll = database.transaction((batch: Waiting[]) => {
    for (const each of batch) {
      const { code, client_id: clientId, redirect_uri: uri } = each.body
      const now = Date.now()
      const token = `uapi_at_${randomBytes(24).toString('base64url')}`
      const tokenKey = orderedKey(token, now)
      const codeKey = orderedKey(code, timeOf(code))
      const granted = spend.get(now, tokenKey, codeKey, clientId, uri, now) as
        { subject: string; scope: string } | undefined
      if (granted === undefined) continue
      insert.run(tokenKey, clientId, granted.subject, granted.scope, now + 3_600_000)
      each.answer = { access_token: token, token_type: 'Bearer', expires_in: 3600, scope: granted.scope }
      each.status = 200
    }
  })
  function flush(): void {
    const batch = waiting
    waiting = []
    redeemAll.immediate(batch)
    for (const { response, answer, status } of batch) reply(response, status, answer)
  }
  function reply(response: ServerResponse, status: number, answer: object): void {
    const body = JSON.stringify(answer)
    response.writeHead(status, {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
      'Cache-Control': 'no-store',
    })
    response.end(body)
  }
  function handle(body: Body, response: ServerResponse): void {
    const known = secretHashes.get(body.client_id)
    if (known === undefined || !timingSafeEqual(known, sha256(body.client_secret))) {
      return reply(response, 401, { error: 'invalid_client' })
    }
    const refusal = { answer: { error: 'invalid_grant' }, status: 400 }
    if (waiting.push({ body, response, ...refusal }) === 1) setImmediate(flush)
  }
  return createServer((request, response) => {
    if (request.method !== 'POST' || request.url !== path) return void response.writeHead(404).end()
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => handle(JSON.parse(Buffer.concat(chunks).toString('utf8')) as Body, response))
  })
}

const peers = createRequire(new URL('../peers/package.json', import.meta.url))

interface OAuth2Server {
  new (options: { model: object }): { token(request: object, response: object): Promise<unknown> }
  readonly Request: new (request: object) => object
  readonly Response: new (response: object) => { headers: object; status: number; body: object }
}
interface ExpressApp {
  post(path: string, ...handlers: unknown[]): void
  listen(port: number, host: string): Server
}

/**
 * What a peer finds in memory: who a code is for. Holds the first half of the codes, because a peer gets through no more,
 * and would be slower the more it holds.
 */
function codesOf(exchanges: string): ReadonlyMap<string, { clientId: string; subject: string }> {
  const all = readExchanges(exchanges)
  const codes = all.slice(0, all.length / 2)
  return new Map(codes.map(({ code, clientId }) => [code, { clientId, subject: randomUUID() }]))
}

/** `@node-oauth/oauth2-server` as its documentation mounts it in Express, on a model in memory. */
function nodeOauth(exchanges: string): Server {
  const codes = codesOf(exchanges)
  const OAuth2 = peers('@node-oauth/oauth2-server') as OAuth2Server
  const express = peers('express') as { (): ExpressApp; urlencoded(options: object): unknown }
  const spent = new Set<string>()
  const tokens = new Map<string, object>()
  const clientOf = new Map(
    clientIds.map((id) => [id, { id, redirectUris: [redirectUri], grants: ['authorization_code'] }]),
  )
  const model = {
    getClient: (id: string, secret: string) => (secret === secretOf(id) ? clientOf.get(id) : null),
    getAuthorizationCode(code: string) {
      const found = codes.get(code)
      if (found === undefined || spent.has(code)) return null
      return {
        authorizationCode: code,
        expiresAt: new Date(Date.now() + 60_000),
        redirectUri,
        scope: ['dns:check'],
        client: clientOf.get(found.clientId),
        user: { id: found.subject },
      }
    },
    revokeAuthorizationCode: ({ authorizationCode }: { authorizationCode: string }) => {
      if (spent.has(authorizationCode)) return false
      spent.add(authorizationCode)
      return true
    },
    saveToken: (token: { accessToken: string }, tokenClient: object, user: object) => {
      const saved = { ...token, client: tokenClient, user }
      tokens.set(token.accessToken, saved)
      return saved
    },
    validateScope: (_user: object, _client: object, scope: string[]) => scope,
  }
  const oauth = new OAuth2({ model })
  const app = express()
  app.post(
    path,
    express.urlencoded({ extended: false }),
    // oxlint-disable-next-line no-async-endpoint-handlers -- Express 5 handles rejections, and this one never rejects
    async (
      request: IncomingMessage,
      response: ServerResponse & {
        set(headers: object): void
        status(code: number): { json(body: object): void }
      },
    ) => {
      const answer = new OAuth2.Response(response)
      try {
        await oauth.token(new OAuth2.Request(request), answer)
        response.set(answer.headers)
        response.status(answer.status).json(answer.body)
      } catch (error) {
        response.status(500).json({ error: String(error) })
      }
    },
  )
  return app.listen(0, '127.0.0.1')
}

interface OidcProvider {
  callback(): (request: IncomingMessage, response: ServerResponse) => void
}

/** `oidc-provider` on an adapter in memory, which finds every code it is asked for and remembers the spent ones. */
async function oidcProvider(exchanges: string): Promise<Server> {
  const { default: Provider } = (await import(peers.resolve('oidc-provider'))) as {
    default: new (issuer: string, configuration: object) => OidcProvider
  }
  const codes = codesOf(exchanges)
  const stored = new Map<string, Record<string, unknown>>()
  const seconds = (): number => Math.floor(Date.now() / 1000)
  class MemoryAdapter {
    readonly model: string
    constructor(model: string) {
      this.model = model
    }
    async upsert(id: string, payload: Record<string, unknown>) {
      stored.set(`${this.model}:${id}`, payload)
    }
    async find(id: string) {
      const found = stored.get(`${this.model}:${id}`)
      if (found !== undefined) return found
      if (this.model === 'Grant') return grant(id)
      return this.model === 'AuthorizationCode' ? code(id) : undefined
    }
    async consume(id: string) {
      stored.set(`${this.model}:${id}`, { ...code(id), consumed: seconds() })
    }
    async destroy() {}
    async revokeByGrantId() {}
    async findByUid() {}
    async findByUserCode() {}
  }
  /** A code has a grant of its own, with the same id. */
  const grant = (id: string): Record<string, unknown> => ({
    kind: 'Grant',
    jti: id,
    accountId: codes.get(id)?.subject,
    clientId: codes.get(id)?.clientId,
    iat: seconds(),
    exp: seconds() + 86_400,
    openid: { scope: 'dns:check' },
  })
  const code = (id: string): Record<string, unknown> => ({
    kind: 'AuthorizationCode',
    jti: id,
    accountId: codes.get(id)?.subject,
    clientId: codes.get(id)?.clientId,
    grantId: id,
    redirectUri,
    scope: 'dns:check',
    iat: seconds(),
    exp: seconds() + 60,
  })
  const provider = new Provider('http://127.0.0.1', {
    adapter: MemoryAdapter,
    clients: clientIds.map((clientId) => ({
      client_id: clientId,
      client_secret: secretOf(clientId),
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: 'client_secret_post',
    })),
    scopes: ['dns:check'],
    routes: { token: path },
    pkce: { required: () => false },
    features: { devInteractions: { enabled: false } },
    findAccount: (_context: object, id: string) => ({ accountId: id, claims: () => ({ sub: id }) }),
  })
  return createServer(provider.callback()).listen(0, '127.0.0.1')
}

/** Each writes the database that the server of that name opens. */
export const stores: Record<string, (file: string, exchanges: string) => void | Promise<void>> = {
  'utility-api': fill,
  'node:http by hand, ordered keys': fillByHand,
}

/** Each makes a server that listens on a free port of loopback, for the codes of a file; two of them on SQLite, at `file`. */
export const subjects: Record<string, (file: string, exchanges: string) => Server | Promise<Server>> = {
  'utility-api': (file) => {
    const api = createUtilityApi({ storage: sqliteStorage(new Database(file)), dns: false, blockgame: false })
    return createServer(toNodeHandler(api)).listen(0, '127.0.0.1')
  },
  'node:http by hand, ordered keys': (file) => byHand(new Database(file)).listen(0, '127.0.0.1'),
  'oidc-provider, memory': (_, exchanges) => oidcProvider(exchanges),
  'oauth2-server on Express, memory': (_, exchanges) => nodeOauth(exchanges),
}
