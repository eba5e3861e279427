import { createHash, randomBytes } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import { createRequire } from 'node:module'
import Database from 'better-sqlite3'
import { createUtilityApi } from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import { sqliteStorage } from 'utility-api/storage/sqlite'

/** What the hand-written servers do with a database: as little as the task allows. */
interface Floor {
  /** The reseller whose token this is. */
  authenticate(authorization: string): string | undefined
  insert(license: Row): void
  database: Database.Database
}

type Row = [
  key: string,
  registeredTo: string,
  domainOrIp: string,
  status: string,
  resellerId: string,
  at: number,
]

function openFloor(path: string, synchronous: 'FULL' | 'NORMAL'): Floor {
  const database = new Database(path)
  database.pragma('journal_mode = WAL')
  database.pragma(`synchronous = ${synchronous}`)
  const find = database
    .prepare('SELECT owner_id FROM utility_api_credentials WHERE hash = ? AND kind = ?')
    .pluck()
  const insert = database.prepare(
    `INSERT INTO utility_api_licenses
       (license_key, registered_to, domain_or_ip, status, reseller_id, created_at, updated_at, compared_domain)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  return {
    database,
    authenticate(authorization) {
      const hash = createHash('sha256').update(authorization.slice('Bearer '.length)).digest()
      return find.get(hash, 'reseller_token') as string | undefined
    },
    insert: (row) => void insert.run(...row, row[5], row[2].toLowerCase()),
  }
}

function toRow(headers: IncomingHttpHeaders, resellerId: string): Row | undefined {
  const { 'x-registered-to': registeredTo, 'x-domain-or-ip': domainOrIp, 'x-status': status } = headers
  if (typeof registeredTo !== 'string' || typeof domainOrIp !== 'string' || typeof status !== 'string')
    return undefined
  const key = `LIC-${randomBytes(15).toString('hex').toUpperCase()}`
  return [key, registeredTo, domainOrIp, status, resellerId, Date.now()]
}

function toAnswer([license_key, registered_to, domain_or_ip, status]: Row): object {
  return { message: 'License generated.', data: { registered_to, domain_or_ip, license_key, status } }
}

/** `node:http` and nothing else; `commit` says when a row is safe. */
function bare(floor: Floor, commit: (row: Row, done: () => void) => void): Server {
  return createServer((request, response) => {
    const resellerId = floor.authenticate(request.headers.authorization ?? '')
    const row = resellerId === undefined ? undefined : toRow(request.headers, resellerId)
    if (request.method !== 'POST' || request.url !== '/v2/reseller/licenses/generate' || row === undefined) {
      response.writeHead(400).end()
      return
    }
    commit(row, () => {
      const body = JSON.stringify(toAnswer(row))
      response
        .writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) })
        .end(body)
    })
  })
}

/** One transaction for each turn of the event loop. */
function groupCommit({ database, insert }: Floor): (row: Row, done: () => void) => void {
  let waiting: [Row, () => void][] = []
  const insertAll = database.transaction((rows: typeof waiting) => {
    for (const [row] of rows) insert(row)
  })
  function flush(): void {
    const batch = waiting
    waiting = []
    insertAll.immediate(batch)
    for (const [, done] of batch) done()
  }
  return (row, done) => {
    if (waiting.push([row, done]) === 1) setImmediate(flush)
  }
}

const peers = createRequire(new URL('../peers/package.json', import.meta.url))

type Handle = (headers: IncomingHttpHeaders) => { status: number; body: object }

function handler(floor: Floor): Handle {
  return (headers) => {
    const resellerId = floor.authenticate(headers.authorization ?? '')
    if (resellerId === undefined) return { status: 401, body: { error: 'invalid_token' } }
    const row = toRow(headers, resellerId)
    if (row === undefined) return { status: 400, body: { error: 'invalid_request' } }
    floor.insert(row)
    return { status: 200, body: toAnswer(row) }
  }
}

interface ExpressApp {
  post(
    path: string,
    handle: (request: { headers: IncomingHttpHeaders }, response: ExpressResponse) => void,
  ): void
  listen(port: number, host: string): Server
}
interface ExpressResponse {
  status(code: number): { json(body: object): void }
}
interface FastifyApp {
  post(
    path: string,
    handle: (request: { headers: IncomingHttpHeaders }, reply: FastifyReply) => unknown,
  ): void
  listen(options: { port: number; host: string }): Promise<string>
  readonly server: Server
}
interface FastifyReply {
  code(code: number): { send(body: object): unknown }
}

/** Each makes a server that listens on a free port of loopback, on the SQLite file at `path`. */
export const subjects: Record<string, (path: string) => Server | Promise<Server>> = {
  'utility-api, full': (path) => {
    const api = createUtilityApi({ storage: sqliteStorage(new Database(path)), dns: false, blockgame: false })
    return createServer(toNodeHandler(api)).listen(0, '127.0.0.1')
  },
  'node:http by hand, full, group commit': (path) => {
    const floor = openFloor(path, 'FULL')
    return bare(floor, groupCommit(floor)).listen(0, '127.0.0.1')
  },
  'node:http by hand, normal, one commit each': (path) => {
    const floor = openFloor(path, 'NORMAL')
    return bare(floor, (row, done) => {
      floor.insert(row)
      done()
    }).listen(0, '127.0.0.1')
  },
  'Fastify 5, normal, one commit each': async (path) => {
    const app = (peers('fastify') as () => FastifyApp)()
    const handle = handler(openFloor(path, 'NORMAL'))
    app.post('/v2/reseller/licenses/generate', (request, reply) => {
      const { status, body } = handle(request.headers)
      return reply.code(status).send(body)
    })
    await app.listen({ port: 0, host: '127.0.0.1' })
    return app.server
  },
  'Express 5, normal, one commit each': (path) => {
    const app = (peers('express') as () => ExpressApp)()
    const handle = handler(openFloor(path, 'NORMAL'))
    app.post('/v2/reseller/licenses/generate', (request, response) => {
      const { status, body } = handle(request.headers)
      response.status(status).json(body)
    })
    return app.listen(0, '127.0.0.1')
  },
}
