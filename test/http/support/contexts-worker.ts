// Many callers at once, each in an async context of its own. Run by Node.js, Bun and Deno; prints how often each function of
// the host was called, and which of these calls were in another's context: `… contexts-worker.ts <calls>`.
import { AsyncLocalStorage } from 'node:async_hooks'
import { createAdmin, createUtilityApi, type DnsAnswer, type DnsClient, type Logger } from 'utility-api'
import { sqliteStorage, type SqliteDatabase, type SqliteStatement } from 'utility-api/storage/sqlite'
import { hashSecret } from '../../../src/domain/secret.ts'
import { redirectUri } from './world.ts'

/** Of one caller of the program: its name, and what it owns. */
interface Caller {
  readonly name: string
  readonly resellerToken: string
  readonly accessToken: string
  readonly apiKey: string
}

const current = new AsyncLocalStorage<string>()
const called: Record<string, number> = {}
const wrong: Record<string, number> = {}

/** Notes a call of a function of the host, which must be in the context of `owner`; undefined: in that of nobody. */
function note(what: string, owner: string | undefined): void {
  called[what] = (called[what] ?? 0) + 1
  if (current.getStore() !== owner) wrong[what] = (wrong[what] ?? 0) + 1
}

/** The callers of whom a value of a statement tells, by the names that hosts give or by their secrets. */
const owners = new Map<unknown, string>()

function ownersIn(values: readonly unknown[]): string[] {
  const keys = values.map((value) =>
    value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value,
  )
  return [...new Set(keys.flatMap((key) => /^caller \d+$/.exec(String(key))?.[0] ?? owners.get(key) ?? []))]
}

/** A database that notes who its statements are for. A transaction is of nobody if more than one has written in it. */
function watched(database: SqliteDatabase): SqliteDatabase {
  let inTransaction = new Set<string>()
  const wrap = (sql: string, statement: SqliteStatement): SqliteStatement => {
    const noted =
      (method: 'run' | 'get' | 'all') =>
      (...values: unknown[]): never => {
        for (const owner of ownersIn(values)) {
          inTransaction.add(owner)
          if (sql.includes('SET last_used_on')) note('the report of uses', undefined)
          else note('a statement', owner)
        }
        return statement[method](...values) as never
      }
    return { run: noted('run'), get: noted('get'), all: noted('all') }
  }
  return {
    exec(sql) {
      if (sql === 'BEGIN IMMEDIATE') inTransaction = new Set()
      if (sql === 'COMMIT' && inTransaction.size > 1) note('the commit of several', undefined)
      return database.exec(sql)
    },
    prepare: (sql) => wrap(sql, database.prepare(sql)),
    get inTransaction() {
      return database.inTransaction ?? database.isTransaction ?? false
    },
  }
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

const dnsClient: DnsClient = {
  async query({ name, signal }): Promise<DnsAnswer> {
    note('dns.client', undefined)
    signal?.addEventListener('abort', () => note('the abort of dns.client', undefined))
    await new Promise((resolve) => setTimeout(resolve, 1))
    if (name.startsWith('broken')) throw new Error('Broken.')
    return { status: 'NOERROR', records: [], cnameChain: [], latencyMs: 1, transport: 'udp' }
  },
  close: async () => {},
}

const log = (message: string, fields: { requestId?: string } = {}): void =>
  note(
    message.startsWith('The DNS client') ? 'logger, for all' : 'logger',
    fields.requestId?.replace('-', ' '),
  )
const logger: Logger = { debug: log, info: log, warn: log, error: log }

const storage = sqliteStorage(watched(await openDatabase()))
await storage.migrate()
const api = createUtilityApi({
  storage,
  logger,
  onRequestEnd: ({ requestId }) => note('onRequestEnd', requestId.replace('-', ' ')),
  errorBody: ({ code }, { requestId }) => {
    note('errorBody', requestId.replace('-', ' '))
    return { code }
  },
  rateLimiter: {
    async consume(key) {
      // A client belongs to all.
      const [owner] = ownersIn([key.replace(/^.*:/, '')])
      if (owner !== undefined) note('rateLimiter', owner)
      return { allowed: true }
    },
  },
  dns: {
    client: dnsClient,
    cacheTtlMs: 0,
    locations: [{ location: 'Here', ip: '127.0.0.1', provider: 'Test' }],
  },
  blockgame: {
    cacheTtlMs: 0,
    client: {
      async status({ host, port = 25_565 }) {
        note('blockgame.client', undefined)
        await new Promise((resolve) => setTimeout(resolve, 1))
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
const admin = createAdmin({ storage })
const { clientId, clientSecret } = await admin.createClient({ redirectUris: [redirectUri] })

async function createCaller(name: string): Promise<Caller> {
  const made = {
    ...(await admin.createApiKey()),
    ...(await admin.createAccessToken({ scope: '' })),
  }
  const { resellerId, token } = await admin.createReseller()
  for (const value of [...Object.values(made), resellerId, token]) own(value, name)
  return { name, resellerToken: token, ...made }
}

/** Remembers whose an identifier or a secret is, which statements name by its hash. */
function own(value: unknown, name: string): void {
  const text = String(value)
  owners.set(text, name).set(Buffer.from(hashSecret(text)).toString('hex'), name)
}

async function ask(
  { name }: Caller,
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: object,
): Promise<{ license_key?: string; data?: { license_key: string } }> {
  const all = { 'X-Request-Id': name.replace(' ', '-'), 'Content-Type': 'application/json', ...headers }
  const init = { method, headers: all, ...(body && { body: JSON.stringify(body) }) }
  return (await api.fetch(new Request(`http://a${path}`, init))).json() as never
}

/** What a caller does, one after the other; half of the names and servers it asks for others ask for too. */
const deeds: ((caller: Caller, round: number) => Promise<unknown>)[] = [
  (caller) =>
    ask(caller, 'POST', '/v2/reseller/licenses/generate', {
      Authorization: `Bearer ${caller.resellerToken}`,
      'X-Registered-To': caller.name,
      'X-Domain-Or-IP': 'a.example',
      'X-Status': 'valid',
    }),
  (caller) =>
    ask(caller, 'PUT', '/v2/reseller/LIC-1/update', {
      Authorization: `Bearer ${caller.resellerToken}`,
      'X-Status': 'valid',
    }),
  async (caller) => {
    const { code } = await admin.issueAuthorizationCode({ clientId, redirectUri, scope: '' })
    own(code, caller.name)
    const grant = { grant_type: 'authorization_code', redirect_uri: redirectUri }
    const secrets = { code, client_id: clientId, client_secret: clientSecret }
    return ask(caller, 'POST', '/v4/oauth2/token', {}, { ...grant, ...secrets })
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
      'X-Address': `192.0.2.${round % 3}`,
    }),
  ({ name }, round) =>
    api.checkDns(
      { domain: `n${round % 3}.example`, recordType: 'A' },
      { caller: name, onAnswer: () => note('onAnswer', name) },
    ),
  ({ name }, round) => {
    const signal = AbortSignal.timeout(0)
    return api
      .checkDns({ domain: `gone${round}.example`, recordType: 'A' }, { caller: name, signal })
      .catch(() => {})
  },
  (caller) => ask(caller, 'GET', '/v3/tools/dnscheck', { Authorization: 'Bearer none' }),
]

const calls = Number(process.argv[2])
const callers = await Promise.all(Array.from({ length: 64 }, (_, at) => createCaller(`caller ${at}`)))
let left = calls
const work = callers.map((caller, at) =>
  current.run(caller.name, async () => {
    for (let round = at; left > 0; round += 1) {
      left -= 1
      // oxlint-disable-next-line no-await-in-loop -- one after the other, beside all other callers
      await deeds[round % deeds.length]?.(caller, round)
    }
  }),
)
await Promise.all(work)
await api.close()
console.log(JSON.stringify({ called, wrong }))
