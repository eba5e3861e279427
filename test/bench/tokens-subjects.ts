import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import Database from 'better-sqlite3'
import { createUtilityApi } from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import { sqliteStorage } from 'utility-api/storage/sqlite'

export const client: {
  readonly clientId: string
  readonly clientSecret: string
  readonly redirectUri: string
} = {
  clientId: 'bench-client',
  clientSecret: 'a-secret-of-at-least-32-characters-for-the-bench',
  redirectUri: 'https://client.example/callback',
}
export const codeCount: number = Number(process.env['CODES'] ?? 400_000)
/** Codes have one length, so that every request has. */
export const codeOf = (index: number): string => `code-${String(index).padStart(10, '0')}`

const path = '/v4/oauth2/token'
const sha256 = (input: string): Buffer => createHash('sha256').update(input).digest()

/** Puts the client and all codes into a SQLite file, in one transaction. */
async function fill(file: string): Promise<Database.Database> {
  const database = new Database(file)
  const storage = sqliteStorage(database)
  await storage.migrate()
  await storage.insertClient({
    clientId: client.clientId,
    secretHashes: [sha256(client.clientSecret)],
    redirectUris: [client.redirectUri],
    revokedAt: null,
  })
  const insert = database.prepare(
    'INSERT INTO utility_api_codes (hash, client_id, redirect_uri, scope, expires_at) VALUES (?, ?, ?, ?, ?)',
  )
  database.transaction(() => {
    const expiresAt = Date.now() + 3_600_000
    for (let index = 0; index < codeCount; index += 1) {
      insert.run(sha256(codeOf(index)), client.clientId, client.redirectUri, 'dns:check', expiresAt)
    }
  })()
  database.close()
  return new Database(file)
}

interface Body {
  readonly grant_type: string
  readonly code: string
  readonly redirect_uri: string
  readonly client_id: string
  readonly client_secret: string
}

/** The least that does the work: the same SQL, the same commits, no checks beyond those the answer depends on. */
function byHand(database: Database.Database): Server {
  database.pragma('journal_mode = WAL')
  database.pragma('synchronous = FULL')
  const findClient = database
    .prepare('SELECT secret_hashes FROM utility_api_clients WHERE client_id = ?')
    .pluck()
  const findCode = database.prepare(
    'SELECT client_id, redirect_uri, scope, expires_at FROM utility_api_codes WHERE hash = ? AND redeemed_at IS NULL',
  )
  const spend = database.prepare(
    'UPDATE utility_api_codes SET redeemed_at = ?, token_hash = ? WHERE hash = ? AND redeemed_at IS NULL',
  )
  const insert = database.prepare(
    `INSERT INTO utility_api_credentials (id, kind, hash, owner_id, scope, expires_at)
     VALUES (?, 'access_token', ?, ?, ?, ?)`,
  )
  interface Waiting {
    readonly codeHash: Buffer
    readonly token: string
    readonly scope: string
    readonly response: ServerResponse
    won: boolean
  }
  let waiting: Waiting[] = []
  const redeemAll = database.transaction((batch: Waiting[]) => {
    for (const each of batch) {
      const now = Date.now()
      const tokenHash = sha256(each.token)
      each.won = spend.run(now, tokenHash, each.codeHash).changes === 1
      if (!each.won) continue
      const id = randomBytes(16).toString('hex')
      insert.run(id, tokenHash, client.clientId, each.scope, now + 3_600_000)
    }
  })
  function flush(): void {
    const batch = waiting
    waiting = []
    redeemAll.immediate(batch)
    for (const { response, won, token, scope } of batch) {
      const body = JSON.stringify(
        won
          ? { access_token: token, token_type: 'Bearer', expires_in: 3600, scope }
          : { error: 'invalid_grant' },
      )
      response.writeHead(won ? 200 : 400, {
        'Content-Type': 'application/json',
        'Content-Length': Buffer.byteLength(body),
        'Cache-Control': 'no-store',
      })
      response.end(body)
    }
  }
  function handle(body: Body, response: ServerResponse): void {
    const codeHash = sha256(body.code)
    const secretHash = findClient.get(body.client_id) as Buffer
    const code = findCode.get(codeHash) as
      { client_id: string; redirect_uri: string; scope: string; expires_at: number } | undefined
    const valid =
      timingSafeEqual(secretHash, sha256(body.client_secret)) &&
      code?.client_id === body.client_id &&
      code.redirect_uri === body.redirect_uri &&
      Date.now() < code.expires_at
    if (!valid) {
      response.writeHead(400).end()
      return
    }
    const token = randomBytes(32).toString('base64url')
    if (waiting.push({ codeHash, token, scope: code.scope, response, won: false }) === 1) setImmediate(flush)
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

/** `@node-oauth/oauth2-server` as its documentation mounts it in Express, on a model in memory. */
function nodeOauth(): Server {
  const OAuth2 = peers('@node-oauth/oauth2-server') as OAuth2Server
  const express = peers('express') as { (): ExpressApp; urlencoded(options: object): unknown }
  const spent = new Set<string>()
  const tokens = new Map<string, object>()
  const known = { id: client.clientId, redirectUris: [client.redirectUri], grants: ['authorization_code'] }
  const model = {
    getClient: (id: string, secret: string) =>
      id === client.clientId && secret === client.clientSecret ? known : null,
    getAuthorizationCode: (code: string) =>
      spent.has(code)
        ? null
        : {
            authorizationCode: code,
            expiresAt: new Date(Date.now() + 60_000),
            redirectUri: client.redirectUri,
            scope: ['dns:check'],
            client: known,
            user: { id: 'user' },
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
async function oidcProvider(): Promise<Server> {
  const { default: Provider } = (await import(peers.resolve('oidc-provider'))) as {
    default: new (issuer: string, configuration: object) => OidcProvider
  }
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
      if (this.model === 'Grant') return grant
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
  const grant = {
    kind: 'Grant',
    jti: 'grant',
    accountId: 'user',
    clientId: client.clientId,
    iat: seconds(),
    exp: seconds() + 86_400,
    openid: { scope: 'dns:check' },
  }
  const code = (id: string): Record<string, unknown> => ({
    kind: 'AuthorizationCode',
    jti: id,
    accountId: 'user',
    clientId: client.clientId,
    grantId: 'grant',
    redirectUri: client.redirectUri,
    scope: 'dns:check',
    iat: seconds(),
    exp: seconds() + 60,
  })
  const provider = new Provider('http://127.0.0.1', {
    adapter: MemoryAdapter,
    clients: [
      {
        client_id: client.clientId,
        client_secret: client.clientSecret,
        redirect_uris: [client.redirectUri],
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
    scopes: ['dns:check'],
    routes: { token: path },
    pkce: { required: () => false },
    features: { devInteractions: { enabled: false } },
    findAccount: (_context: object, id: string) => ({ accountId: id, claims: () => ({ sub: id }) }),
  })
  return createServer(provider.callback()).listen(0, '127.0.0.1')
}

/** Each makes a server that listens on a free port of loopback; the first two on a SQLite file at `path`. */
export const subjects: Record<string, (file: string) => Server | Promise<Server>> = {
  'utility-api': async (file) => {
    const storage = sqliteStorage(await fill(file))
    const api = createUtilityApi({ storage, dns: false, blockgame: false })
    return createServer(toNodeHandler(api)).listen(0, '127.0.0.1')
  },
  'node:http by hand': async (file) => byHand(await fill(file)).listen(0, '127.0.0.1'),
  'oidc-provider, memory': oidcProvider,
  'oauth2-server on Express, memory': nodeOauth,
}
