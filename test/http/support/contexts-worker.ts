// Many callers at once, each in an async context of its own. Run by Node.js, Bun and Deno; prints how often each function
// of the host was called, and which of these calls were in another's context: `… contexts-worker.ts <calls> [<URL>]`. The
// URL is that of a database; without one, it is SQLite in memory.
import { AsyncLocalStorage } from 'node:async_hooks'
import { tracingChannel, type ChannelListener } from 'node:diagnostics_channel'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  createAdmin,
  createUtilityApi,
  randomKeys,
  type Clock,
  type DnsAnswer,
  type DnsClient,
  type KeyGenerator,
  type Logger,
} from 'utility-api'
import { createBlockgameClient } from 'utility-api/blockgame'
import { toBunHandler } from 'utility-api/bun'
import { createDohClient, findAuthoritativeServers } from 'utility-api/dns'
import { toExpressHandler } from 'utility-api/express'
import type { AdminStorage } from 'utility-api/storage'
import { mysqlStorage, type MysqlPool } from 'utility-api/storage/mysql'
import { postgresStorage } from 'utility-api/storage/postgres'
import { sqliteStorage, type SqliteDatabase } from 'utility-api/storage/sqlite'
import { hashSecret } from '../../../src/domain/secret.ts'
import { counting, replacing } from '../../storage/support/round-trips.ts'
import { grantFields, redirectUri } from './grant.ts'

const current = new AsyncLocalStorage<string>()
const called: Record<string, number> = {}
const wrong: Record<string, number> = {}

function check(what: string, isRight: boolean): void {
  called[what] = (called[what] ?? 0) + 1
  if (!isRight) wrong[what] = (wrong[what] ?? 0) + 1
}

/** Notes a call of a function of the host, which must be in the context of `owner`; undefined: in that of nobody. */
function note(what: string, owner: string | undefined): void {
  check(what, current.getStore() === owner)
}

/** Returns a function of the host for one caller. */
const noted =
  <Args extends unknown[], Result>(what: string, owner: string, answer: (...args: Args) => Result) =>
  (...args: Args): Result => {
    note(what, owner)
    return answer(...args)
  }

/** Whose a secret, its hash, an identifier or a time is. Reports of uses and looks at the schema are for all. */
const owners = new Map<unknown, string>(
  ['recordUse', 'SET last_used_on', 'utility_api_schema'].map((word) => [word, 'all']),
)

/** Remembers that a value is of whose context it was made in. */
function own<Value>(value: Value): Value {
  const name = current.getStore()
  if (name !== undefined) owners.set(value, name)
  if (name !== undefined && typeof value === 'string')
    owners.set(Buffer.from(hashSecret(value)).toString('hex'), name)
  return value
}

function ownersIn(value: unknown): string[] {
  if (value instanceof Uint8Array) return ownersIn(Buffer.from(value).toString('hex'))
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(ownersIn)
  if (typeof value !== 'string') return [owners.get(value) ?? []].flat()
  const words = value.match(/caller-\d+|recordUse|SET last_used_on|utility_api_schema|\\x|[\w-]{20,}/g) ?? []
  return words.flatMap((word) =>
    word.startsWith('caller-') ? word : (owners.get(word) ?? owners.get(word.toLowerCase()) ?? []),
  )
}

/** Those who have used the connection of SQLite since the last beginning of a write. */
let writers = new Set<string>()

/** Notes a use of something whose values tell of its callers: in the context of the only one, or in that of nobody. */
function noteUse(what: string, values: unknown, borrower?: string): void {
  const found = new Set(ownersIn(values))
  for (const each of found) writers.add(each)
  noteFor(what, found)
  if (borrower !== undefined && found.size === 1) check('a connection', found.has(borrower))
}

function noteFor(what: string, found: ReadonlySet<string>): void {
  const [owner, ...others] = found
  if (owner === undefined) return
  if (others.length > 0 || owner === 'all') note(`${what}, for several`, undefined)
  else note(what, owner)
}

/** A database that notes who its statements and transactions are for. The end of every tenth one of reads fails. */
function watchedDatabase(database: SqliteDatabase): SqliteDatabase {
  let reads = 0
  let isReading = false
  const exec = counting(database, ['exec'], (_, [sql]) => {
    if (sql === 'BEGIN IMMEDIATE') writers = new Set()
    if (sql === 'BEGIN') isReading = true
    if (isReading) note(`the transaction of reads: ${sql}`, undefined)
    else if (sql === 'COMMIT') noteFor('the commit', writers)
    if (isReading && sql === 'COMMIT' && (reads += 1) % 10 === 0) throw new Error('It is busy.')
    if (sql !== 'BEGIN') isReading = false
  })
  return replacing(exec, 'prepare', (sql: string) =>
    counting(database.prepare(sql), ['run', 'get', 'all'], (_, values) =>
      noteUse('a statement', [sql, values]),
    ),
  )
}

async function openDatabase(): Promise<SqliteDatabase> {
  const inBun = 'bun' in process.versions
  const driver: string = inBun ? 'bun:sqlite' : 'node:sqlite'
  const { Database, DatabaseSync } = (await import(driver)) as Record<
    string,
    new (path: string) => SqliteDatabase
  >
  const Driver = (inBun ? Database : DatabaseSync) as new (path: string) => SqliteDatabase
  return new Driver(':memory:')
}

/** A pool that notes who its statements are for, and who gives a connection back. */
function watchedPool<Pool extends object>(pool: Pool, lend: keyof Pool & string): Pool {
  const borrowers = new WeakMap<object, string | undefined>()
  return replacing(pool, lend, async () => {
    const borrower = current.getStore()
    const connection = await (pool[lend] as () => Promise<object>)()
    borrowers.set(connection, borrower)
    return counting(connection, ['query', 'execute', 'release', 'destroy'], (method, args) => {
      if (method === 'query' || method === 'execute') noteUse('a statement', args, borrowers.get(connection))
      else note('the return of a connection', borrowers.get(connection))
    })
  })
}

/** A storage, and what closes its connections. */
/** The drivers are loaded where they are used: Node.js 22 cannot load them beside the hook for our sources. */
async function openStorage(url = ''): Promise<[AdminStorage & { migrate(): unknown }, () => unknown]> {
  if (url.startsWith('postgres')) {
    const { Pool } = await import('pg')
    const pool = new Pool({ connectionString: url, max: 10 })
    return [postgresStorage(watchedPool(pool, 'connect')), () => pool.end()]
  }
  if (url.startsWith('mysql')) {
    const mysql = await import('mysql2/promise')
    const pool = mysql.createPool({ uri: url, connectionLimit: 10 })
    return [mysqlStorage(watchedPool(pool as unknown as MysqlPool, 'getConnection')), () => pool.end()]
  }
  return [sqliteStorage(watchedDatabase(await openDatabase())), () => {}]
}

const pause = (): Promise<void> => new Promise((resolve) => void setTimeout(resolve, 1))
const callerIn = (text = ''): string | undefined => /caller-\d+/.exec(text)?.[0]
const sometimesThrow = (): void => {
  if (Math.random() < 0.05) throw new Error('Broken.')
}

const dnsClient: DnsClient = {
  async query({ name, signal }): Promise<DnsAnswer> {
    note('dns.client', undefined)
    signal?.addEventListener('abort', () => note('the abort of dns.client', undefined))
    await pause()
    if (name.startsWith('broken')) throw new Error('Broken.')
    return { status: 'NOERROR', records: [], cnameChain: [], latencyMs: 1, transport: 'udp' }
  },
  close: async () => {},
}

/** A long refusal of EDNS, which is read in a turn of its own and makes the client ask again. */
function refusal(query: ArrayBuffer): Uint8Array<ArrayBuffer> {
  const reply = new Uint8Array(1300)
  reply.set(new Uint8Array(query))
  reply.set([0x80, 1], 2)
  return reply
}

const doh = createDohClient({
  endpoint({ doh: url = '' }) {
    note('doh.endpoint', callerIn(url))
    return url
  },
  async fetch(url, { body, signal }) {
    note('doh.fetch', callerIn(url))
    signal.addEventListener('abort', () => note('the abort of doh.fetch', callerIn(url)))
    if (!url.endsWith('/long')) return new Promise(() => {})
    await pause()
    return new Response(refusal(body), { headers: { 'Content-Type': 'application/dns-message' } })
  },
})

const game = createBlockgameClient({
  async resolve(host, { signal }) {
    note('blockgame.resolve', callerIn(host))
    signal.addEventListener('abort', () => note('the abort of blockgame.resolve', callerIn(host)))
    await pause()
    return ['192.0.2.1']
  },
  allowAddress({ host }) {
    note('blockgame.allowAddress', callerIn(host))
    return false
  },
})

const log = (_: string, { requestId }: { requestId?: string } = {}): void =>
  note(requestId === undefined ? 'logger, for all' : 'logger', requestId)
const logger: Logger = { debug: log, info: log, warn: log, error: log }

/** No two times or keys are equal, and the statements that write one show whose it is. */
let time = Date.now()
const clock: Clock = { now: () => own((time += 7)) }
const keys = randomKeys()
const keyGenerator: KeyGenerator = {
  ...keys,
  licenseKey: (prefix) => own(keys.licenseKey(prefix)),
  secret: (kind, at) => own(keys.secret(kind, own(at))),
  id: (at) => own(keys.id(at)),
  parseLicenseKey(text, prefix) {
    noteUse('keyGenerator.parseLicenseKey', text)
    return keys.parseLicenseKey(text, prefix)
  },
}

const [unwatched, closeStorage] = await openStorage(process.argv[3])
await unwatched.migrate()
const storage: AdminStorage = counting(unwatched, Object.keys(unwatched), (method, args) =>
  noteUse('storage', [method, args]),
)
const api = createUtilityApi({
  storage,
  clock,
  keyGenerator,
  logger,
  onRequestEnd({ requestId }) {
    note('onRequestEnd', requestId)
    sometimesThrow()
  },
  errorBody: ({ code }, { requestId }) => {
    note('errorBody', requestId)
    return { code }
  },
  rateLimiter: {
    async consume(key) {
      note('rateLimiter', owners.get(key.replace(/^.*:/, '')))
      sometimesThrow()
      return { allowed: true }
    },
  },
  dns: {
    client: dnsClient,
    cacheTtlMs: 20,
    locations: [{ location: 'Here', ip: '127.0.0.1', provider: 'Test' }],
  },
  blockgame: {
    cacheTtlMs: 20,
    client: {
      async status(target) {
        const { host, port = 25_565 } = target
        note('blockgame.client', undefined)
        if (host.endsWith('example')) return game.status(target)
        await pause()
        return {
          ip: host,
          port,
          latencyMs: 1,
          srvRecord: null,
          players: { online: 0, max: 0 },
          version: { name: '1', protocol: 1 },
          description: '',
          descriptionSpans: [],
        }
      },
      close: async () => {},
    },
  },
})
const admin = createAdmin({ storage, clock, keyGenerator })

const bunHandler = toBunHandler(api)
const handler = toExpressHandler(api, {
  fallthrough: true,
  requestId({ url }) {
    note('requestId of a mount', callerIn(url))
    return callerIn(url)
  },
})
const server = createServer((request, response) =>
  current.run(String(callerIn(request.url)), () =>
    handler(request, response, () => {
      note('next', callerIn(request.url))
      response.end()
    }),
  ),
)
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const { port } = server.address() as AddressInfo

/** Of one caller of the program: its name, and what it owns. */
type Caller = Awaited<ReturnType<typeof createCaller>>

async function createCaller(name: string, at: number) {
  const made = {
    ip: `192.0.2.${at}`,
    ...(await admin.createClient({ redirectUris: [redirectUri] })),
    ...(await admin.createApiKey()),
    ...(await admin.createAccessToken({ scope: '', lifetimeSeconds: 1e6 })),
    ...(await admin.createReseller()),
  }
  for (const value of Object.values(made)) own(value)
  return { name, ...made }
}

async function ask(
  { name, ip }: Caller,
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: object,
): Promise<void> {
  const sent = new Headers({ 'Content-Type': 'application/json', ...headers })
  const { written } = await api.dispatch(
    {
      method,
      url: path,
      header: noted('request.header', name, (header: string) => sent.get(header)),
      body: noted('request.body', name, async () => Buffer.from(JSON.stringify(body))),
      drain: noted('request.drain', name, () => {}),
    },
    { ip, requestId: noted('requestId', name, () => name) },
  )
  written()
}

/** What a caller does, one after the other; half of the names and servers it asks for others ask for too. */
const deeds: ((caller: Caller, round: number) => Promise<unknown>)[] = [
  (caller, round) =>
    ask(caller, 'POST', '/v2/reseller/licenses/generate', {
      Authorization: `Bearer ${caller.token}`,
      'X-Registered-To': caller.name,
      'X-Domain-Or-IP': 'a.example',
      'X-Status': 'valid',
      ...(round % 2 === 0 && { 'Idempotency-Key': String(round) }),
    }),
  (caller) =>
    ask(caller, 'PUT', `/v2/reseller/${caller.name}/update`, {
      Authorization: `Bearer ${caller.token}`,
      'X-Status': 'valid',
    }),
  async (caller, round) => {
    const { name, clientId } = caller
    const { code } = await admin.issueAuthorizationCode({ clientId, redirectUri, scope: '' })
    const form = grantFields(caller, code, redirectUri)
    if (round % 2 === 0) return ask(caller, 'POST', '/v4/oauth2/token', {}, form)
    const body = new ReadableStream({
      pull(controller) {
        note('the pull of a body', name)
        controller.enqueue(Buffer.from(JSON.stringify(form)))
        controller.close()
      },
    })
    const headers = { 'X-Request-Id': name, 'Content-Type': 'application/json' }
    const init = { method: 'POST', headers, body, duplex: 'half' } as const
    return api.fetch(new Request('http://a/v4/oauth2/token', init))
  },
  (caller, round) =>
    ask(caller, 'GET', '/v3/tools/dnscheck', {
      Authorization: `Bearer ${caller.accessToken}`,
      'X-Domain': round % 16 === 3 ? `broken${round % 3}.example` : `n${round % 3}.example`,
      'X-Record-Type': 'A',
    }),
  (caller, round) =>
    ask(caller, 'GET', '/v4/games/blockgame/lookup', {
      Basic: caller.apiKey,
      'X-Address': round % 2 === 0 ? `192.0.2.${round % 3}` : `n${round % 3}.example`,
      'X-Port': '2000',
    }),
  ({ name }, round) =>
    api.checkDns(
      { domain: `n${round % 3}.example`, recordType: 'A' },
      { caller: name, onAnswer: noted('onAnswer', name, () => {}) },
    ),
  ({ name }, round) => {
    const signal = AbortSignal.timeout(0)
    return api.checkDns({ domain: `gone${round}.example`, recordType: 'A' }, { caller: name, signal })
  },
  (caller, round) => {
    const { name, ip } = caller
    const headers = { 'X-Request-Id': name, Authorization: `Bearer ${own(`no-${name}`)}` }
    if (round % 2 === 0) return ask(caller, 'GET', '/v3/tools/dnscheck', headers)
    const requestIP = noted('requestIP', name, () => ({ address: ip }))
    return bunHandler(new Request('http://a/v3/tools/dnscheck', { headers }), { requestIP })
  },
  ({ accessToken, apiKey, name, token }) =>
    Promise.all([
      api.verifyAccessToken(accessToken),
      api.verifyApiKey(apiKey),
      api.verifyResellerToken(token),
      api.findLicense(name),
    ]),
  ({ name }, round) => {
    const path = round % 2 === 0 ? name : `v3/tools/dnscheck?${name}`
    return fetch(`http://127.0.0.1:${port}/${path}`, { method: 'PUT' }).then((response) => response.text())
  },
  ({ name }) => {
    const query = noted('the client of findAuthoritativeServers', name, async (): Promise<DnsAnswer> => {
      await pause()
      return { status: 'TIMEOUT', records: [], cnameChain: [], latencyMs: 1, transport: 'udp' }
    })
    const resolvers = [{ ip: '192.0.2.1' }, { ip: '192.0.2.2' }]
    return findAuthoritativeServers({ query, close: async () => {} }, 'a.example', { resolvers })
  },
]
const direct: typeof deeds = [
  ({ name }, round) => game.status({ host: `${name}.example`, port: 2000, timeoutMs: round % 2 ? 1 : 5000 }),
  ({ name }, round) => {
    const isLong = round % 2 === 1
    const url = `https://${name}/${isLong ? 'long' : ''}`
    const question = { name: 'a.example', type: 'A', server: { ip: '192.0.2.1', doh: url } } as const
    return doh.query({ ...question, timeoutMs: isLong ? 5000 : 1 + (round % 6) })
  },
]
deeds.push(...direct)

const calls = Number(process.argv[2])
const callers = await Promise.all(
  Array.from({ length: 64 }, (_, at) => current.run(`caller-${at}`, createCaller, `caller-${at}`, at)),
)
const channels = ['request', 'storage', 'dns', 'blockgame'].map((name) => {
  const listener = (event: { readonly method?: string; readonly requestId?: string }): void => {
    const here = current.getStore()
    // What is done for a caller is told in its context; what is shared, in that of the caller who came first.
    const isNobodys = event.method === 'recordUse'
    check(`channel ${name}`, event.requestId ? here === event.requestId : isNobodys === (here === undefined))
  }
  const listeners = { start: listener as ChannelListener, asyncEnd: listener as ChannelListener }
  const channel = tracingChannel(`utility-api.${name}`)
  channel.subscribe(listeners as never)
  return () => channel.unsubscribe(listeners as never)
})
let left = calls
const work = callers.map((caller, at) =>
  current.run(caller.name, async () => {
    for (let round = at; left > 0; round += 1) {
      left -= 1
      if (left === Math.floor(calls / 2)) for (const unsubscribe of channels) unsubscribe()
      // oxlint-disable-next-line no-await-in-loop -- one after the other, beside all other callers
      await deeds[round % deeds.length]?.(caller, Math.floor(round / deeds.length)).catch(() => {})
    }
  }),
)
await Promise.all(work)
// A write that is surely alone in its transaction.
await Promise.all(callers.slice(0, 1).map((caller) => current.run(caller.name, deeds[0] as never, caller, 1)))
const last = callers.flatMap((caller) => direct.map((deed) => current.run(caller.name, deed, caller, 0)))
await current.run('caller-0', () =>
  Promise.all([game.close(), doh.close(), api.close(), ...last.map((each) => each.catch(() => {}))]),
)
server.close()
server.closeAllConnections()
await closeStorage()
console.log(JSON.stringify({ called, wrong }))
