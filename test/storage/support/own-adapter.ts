import {
  StorageError,
  withCheckedRows,
  type AccessReference,
  type AdminStorage,
  type AuthorizationCode,
  type Client,
  type ClientType,
  type Credential,
  type CredentialKind,
  type CredentialReference,
  type License,
  type LicensePage,
  type LicenseUpdate,
  type NewAccessToken,
  type NewIdempotencyKey,
  type NewLicense,
  type Reseller,
  type StorageCall,
} from 'utility-api/storage'
import { ConnectionLost, type Connection, type OwnServer } from './own-server.ts'

/**
 * An adapter as somebody new to this writes one: a transaction for each method, in which it reads, decides and writes.
 * Nothing in it is clever, so every part of it can be got wrong by itself.
 */

/** The tables; `collation` is what a column of text is compared by. */
export function schemaOf(collation: (column: string) => string = () => 'BINARY'): string {
  const text = (column: string): string => `${column.split('.')[1]} TEXT COLLATE ${collation(column)}`
  return `
    CREATE TABLE clients (seq INTEGER PRIMARY KEY AUTOINCREMENT, ${text('clients.client_id')} UNIQUE,
      secrets BLOB, redirect_uris TEXT, created_at INTEGER, revoked_at INTEGER, name TEXT,
      client_type TEXT);
    CREATE TABLE resellers (seq INTEGER PRIMARY KEY AUTOINCREMENT, ${text('resellers.reseller_id')} UNIQUE,
      created_at INTEGER, name TEXT);
    CREATE TABLE codes (hash BLOB PRIMARY KEY, ${text('codes.client_id')}, ${text('codes.subject')}, redirect_uri TEXT,
      scope TEXT, code_challenge TEXT, expires_at INTEGER, redeemed_at INTEGER, token BLOB);
    CREATE TABLE credentials (seq INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT, hash BLOB, ${text('credentials.id')} UNIQUE,
      ${text('credentials.owner_id')}, ${text('credentials.subject')}, scope TEXT, created_at INTEGER,
      expires_at INTEGER, revoked_at INTEGER, name TEXT, last_used_on INTEGER, UNIQUE (kind, hash));
    CREATE TABLE licenses (seq INTEGER PRIMARY KEY AUTOINCREMENT, ${text('licenses.license_key')} UNIQUE,
      registered_to TEXT, domain_or_ip TEXT, ${text('licenses.compared_domain')}, ${text('licenses.status')},
      ${text('licenses.reseller_id')}, created_at INTEGER, updated_at INTEGER, ${text('licenses.reference')}, expires_at INTEGER);
    CREATE TABLE idempotency_keys (${text('idempotency_keys.reseller_id')}, key_hash BLOB, request_hash BLOB, license_key TEXT,
      expires_at INTEGER, PRIMARY KEY (reseller_id, key_hash));`
}

/** The columns of text that are compared. */
export const comparedColumns: readonly string[] = [
  'clients.client_id',
  'resellers.reseller_id',
  'codes.client_id',
  'codes.subject',
  'credentials.id',
  'credentials.owner_id',
  'credentials.subject',
  'licenses.license_key',
  'licenses.compared_domain',
  'licenses.status',
  'licenses.reseller_id',
  'licenses.reference',
  'idempotency_keys.reseller_id',
]

/** What a method sends its statements through. */
export type Statements = Pick<Connection, 'all' | 'run'>

/** Runs the statements of one method. */
export type Transact = <Result>(
  state: State,
  call: StorageCall,
  work: (db: Statements) => Promise<Result>,
) => Promise<Result>

/** What an instance knows beside its data. */
export interface State {
  readonly server: OwnServer
  closed: boolean
}

/** One transaction, rolled back and its connection given back whatever happens. */
export const transact: Transact = async ({ server }, call, work) => {
  requireTime(call)
  const connection = await server.connect()
  try {
    await connection.begin()
    requireTime(call)
    const result = await work(connection)
    await connection.commit()
    return result
  } catch (error) {
    await connection.rollback()
    throw toStorageError(error)
  } finally {
    connection.release()
  }
}

export function requireTime(call: StorageCall): void {
  if (call.timeLeftMs() <= 0) throw new StorageError('unavailable', 'nobody waits', { retryable: true })
}

export function toStorageError(error: unknown): unknown {
  if (error instanceof ConnectionLost) return new StorageError('unavailable', error.message, { cause: error })
  if (/UNIQUE/.test(String(error))) return new StorageError('conflict', 'taken', { cause: error })
  return error
}

interface Numbered {
  readonly seq: number
}
interface ClientRow extends Numbered {
  readonly client_id: string
  readonly secrets: Uint8Array
  readonly redirect_uris: string
  readonly created_at: number
  readonly revoked_at: number | null
  readonly name: string | null
  readonly client_type: ClientType | null
}
interface ResellerRow extends Numbered {
  readonly reseller_id: string
  readonly created_at: number
  readonly name: string | null
}
interface CodeRow {
  readonly client_id: string
  readonly subject: string | null
  readonly redirect_uri: string
  readonly scope: string
  readonly code_challenge: string | null
  readonly expires_at: number
  readonly redeemed_at: number | null
  readonly token: Uint8Array | null
}
interface CredentialRow extends Numbered {
  readonly id: string
  readonly owner_id: string
  readonly subject: string | null
  readonly scope: string
  readonly created_at: number
  readonly expires_at: number | null
  readonly revoked_at: number | null
  readonly name: string | null
  readonly last_used_on: number | null
}
interface LicenseRow extends Numbered {
  readonly license_key: string
  readonly registered_to: string
  readonly domain_or_ip: string
  readonly compared_domain: string
  readonly status: string
  readonly reseller_id: string
  readonly created_at: number
  readonly updated_at: number
  readonly reference: string | null
  readonly expires_at: number | null
}
interface IdempotencyKeyRow {
  readonly license_key: string
  readonly request_hash: Uint8Array
}

async function first<Row>(
  db: Statements,
  sql: string,
  ...values: (string | number | Uint8Array)[]
): Promise<Row | null> {
  return ((await db.all(sql, ...values))[0] as Row | undefined) ?? null
}

const findClient = 'SELECT * FROM clients WHERE client_id = ?'
const findCode = 'SELECT * FROM codes WHERE hash = ?'
const findLicense = 'SELECT * FROM licenses WHERE license_key = ?'

function toClient(row: ClientRow): Client {
  const { client_id, secrets, redirect_uris, created_at, revoked_at, name, client_type } = row
  const bytes: Uint8Array = secrets
  const secretHashes = Array.from({ length: bytes.length / 32 }, (_, index) =>
    bytes.slice(32 * index, 32 * index + 32),
  )
  const redirectUris = JSON.parse(redirect_uris) as string[]
  const label = name === null ? {} : { name }
  return {
    clientId: client_id,
    secretHashes,
    redirectUris,
    createdAt: created_at,
    revokedAt: revoked_at,
    ...label,
    ...(client_type !== null && { clientType: client_type }),
  }
}

function toCode(row: CodeRow): AuthorizationCode {
  const { client_id, subject, redirect_uri, scope, code_challenge, expires_at, redeemed_at } = row
  const rest = {
    redirectUri: redirect_uri,
    codeChallenge: code_challenge,
    expiresAt: expires_at,
    redeemedAt: redeemed_at,
  }
  return { clientId: client_id, subject, scope, ...rest }
}

function toCredential(row: CredentialRow): Credential {
  const { id, owner_id, subject, scope, created_at, expires_at, revoked_at, name } = row
  const label = name === null ? {} : { name }
  const times = { createdAt: created_at, expiresAt: expires_at, revokedAt: revoked_at }
  return { id, ownerId: owner_id, subject, scope, ...times, ...label }
}

function toReseller({ reseller_id, created_at, name }: ResellerRow): Reseller {
  return { resellerId: reseller_id, createdAt: created_at, ...(name !== null && { name }) }
}

function toLicense(row: LicenseRow): License {
  const { license_key, registered_to, domain_or_ip, status, reseller_id, reference } = row
  const rest = { registeredTo: registered_to, domainOrIp: domain_or_ip, resellerId: reseller_id }
  const times = { createdAt: row.created_at, updatedAt: row.updated_at, expiresAt: row.expires_at }
  return { licenseKey: license_key, ...rest, status, reference, ...times }
}

function toStored(row: LicenseRow): NewLicense {
  return { ...toLicense(row), comparedDomain: row.compared_domain }
}

function joined(hashes: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(hashes)
}

/** The whole row as it is to be: whoever read it in another transaction undoes what came between. */
async function putClient(db: Statements, client: Client): Promise<boolean> {
  const { clientId, secretHashes, redirectUris, revokedAt, name = null } = client
  const sql =
    'UPDATE clients SET secrets = ?, redirect_uris = ?, revoked_at = ?, name = ? WHERE client_id = ?'
  return (
    (await db.run(sql, joined(secretHashes), JSON.stringify(redirectUris), revokedAt, name, clientId)) > 0
  )
}

async function putLicense(db: Statements, license: NewLicense): Promise<boolean> {
  const { licenseKey, registeredTo, domainOrIp, comparedDomain, status, resellerId, updatedAt } = license
  const columns =
    'registered_to = ?, domain_or_ip = ?, compared_domain = ?, status = ?, reseller_id = ?, updated_at = ?, reference = ?, expires_at = ?'
  const sql = `UPDATE licenses SET ${columns} WHERE license_key = ?`
  const fields = [registeredTo, domainOrIp, comparedDomain, status, resellerId, updatedAt]
  const values = [...fields, license.reference, license.expiresAt, licenseKey]
  return (await db.run(sql, ...values)) > 0
}

function sent<Patch extends object>(patch: Patch): Partial<Patch> {
  return Object.fromEntries(
    Object.entries(patch).filter(([, value]) => value !== undefined),
  ) as Partial<Patch>
}

async function addCredential(
  db: Statements,
  kind: CredentialKind,
  hash: Uint8Array,
  row: Credential,
): Promise<void> {
  const { id, ownerId, subject, scope, createdAt, expiresAt, revokedAt, name = null } = row
  const columns = 'kind, hash, id, owner_id, subject, scope, created_at, expires_at, revoked_at, name'
  const sql = `INSERT INTO credentials (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
  await db.run(sql, kind, hash, id, ownerId, subject, scope, createdAt, expiresAt, revokedAt, name)
}

/** Revokes each row that the condition finds, and says how many there were. */
async function revokeWhere(
  db: Statements,
  at: number,
  where: string,
  ...values: (string | Uint8Array)[]
): Promise<number> {
  const rows = await db.all(`SELECT seq FROM credentials WHERE ${where} AND revoked_at IS NULL`, ...values)
  for (const { seq } of rows as { seq: number }[])
    // oxlint-disable-next-line no-await-in-loop -- statement after statement on one connection
    await db.run('UPDATE credentials SET revoked_at = ? WHERE seq = ?', at, seq)
  return rows.length
}

async function endCodes(db: Statements, which: AccessReference): Promise<number> {
  if ('resellerId' in which) return 0
  return 'clientId' in which
    ? await db.run('DELETE FROM codes WHERE client_id = ? AND redeemed_at IS NULL', which.clientId)
    : await db.run('DELETE FROM codes WHERE subject = ? AND redeemed_at IS NULL', which.subject)
}

interface Page {
  readonly after?: string
  readonly limit: number
}

async function pageOf<Row extends Numbered>(
  db: Statements,
  table: string,
  { after = '0', limit }: Page,
  where = '1',
  ...values: string[]
): Promise<{ rows: Row[]; next?: string }> {
  if (!/^\d{1,15}$/.test(after)) throw new StorageError('invalid', 'no mark')
  const sql = `SELECT * FROM ${table} WHERE seq > ? AND ${where} ORDER BY seq LIMIT ?`
  const found = (await db.all(sql, Number(after), ...values, limit + 1)) as Row[]
  const rows = found.slice(0, limit)
  return found.length > limit ? { rows, next: String(rows.at(-1)?.seq) } : { rows }
}

async function endingPage(
  db: Statements,
  page: LicensePage,
): Promise<{ licenses: License[]; next?: string }> {
  const { endsFrom = 0, endsBefore = 0, resellerId, after = `${endsFrom}:0`, limit } = page
  const [, end, seq] = /^(\d{1,16}):(\d{1,15})$/.exec(after) ?? []
  if (end === undefined) throw new StorageError('invalid', 'no mark')
  const [where, values] = resellerId === undefined ? ['', []] : ['AND reseller_id = ?', [resellerId]]
  const sql = `SELECT * FROM licenses WHERE (expires_at, seq) > (?, ?) AND expires_at < ? ${where} ORDER BY expires_at, seq LIMIT ?`
  const found = (await db.all(
    sql,
    Number(end),
    Number(seq),
    endsBefore,
    ...values,
    limit + 1,
  )) as LicenseRow[]
  const licenses = found.slice(0, limit).map(toLicense)
  const last = found[limit - 1]
  return found.length > limit ? { licenses, next: `${last?.expires_at}:${last?.seq}` } : { licenses }
}

/** A method of the port on a connection, without its call. */
type Method = (db: Statements, ...args: never[]) => Promise<unknown>

/** Every method of the port, without its call. */
export const methods: Readonly<Record<string, Method>> = {
  async findClient(db: Statements, clientId: string) {
    const row = await first<ClientRow>(db, findClient, clientId)
    return row && toClient(row)
  },
  async findAuthorizationCode(db: Statements, hash: Uint8Array) {
    const row = await first<CodeRow>(db, findCode, hash)
    return row && toCode(row)
  },
  async redeemAuthorizationCode(
    db: Statements,
    codeHash: Uint8Array,
    at: number,
    { hash, ...token }: NewAccessToken,
  ) {
    const row = await first<CodeRow>(db, findCode, codeHash)
    if (row === null || row.redeemed_at !== null) return false
    await db.run('UPDATE codes SET redeemed_at = ?, token = ? WHERE hash = ?', at, hash, codeHash)
    await addCredential(db, 'access_token', hash, { ...token, revokedAt: null })
    return true
  },
  async revokeAccessTokensOfCode(db: Statements, codeHash: Uint8Array, at: number) {
    const row = await first<CodeRow>(db, findCode, codeHash)
    const token: Uint8Array | null = row?.token ?? null
    return token === null ? 0 : revokeWhere(db, at, "kind = 'access_token' AND hash = ?", token)
  },
  async findCredential(db: Statements, kind: CredentialKind, hash: Uint8Array) {
    const row = await first<CredentialRow>(
      db,
      'SELECT * FROM credentials WHERE kind = ? AND hash = ?',
      kind,
      hash,
    )
    return row && toCredential(row)
  },
  async insertLicense(db: Statements, license: NewLicense, key?: NewIdempotencyKey) {
    const { licenseKey, registeredTo, domainOrIp, status, resellerId, createdAt, updatedAt } = license
    const held =
      'SELECT * FROM idempotency_keys WHERE reseller_id = ? AND key_hash = ? AND (expires_at > ?) IS NOT FALSE'
    const answer = key && (await first<IdempotencyKeyRow>(db, held, key.resellerId, key.keyHash, key.at))
    if (answer) return { replay: answer.license_key, requestHash: answer.request_hash }
    if ((await first<LicenseRow>(db, findLicense, licenseKey)) !== null) return 'key_taken'
    const columns =
      'license_key, registered_to, domain_or_ip, compared_domain, status, reseller_id, created_at, updated_at, reference, expires_at'
    const fields = [licenseKey, registeredTo, domainOrIp, license.comparedDomain, status]
    const values = [...fields, resellerId, createdAt, updatedAt, license.reference, license.expiresAt]
    await db.run(`INSERT INTO licenses (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, ...values)
    if (key !== undefined) {
      const { requestHash, expiresAt } = key
      await db.run(
        'INSERT OR REPLACE INTO idempotency_keys VALUES (?, ?, ?, ?, ?)',
        key.resellerId,
        key.keyHash,
        requestHash,
        licenseKey,
        expiresAt,
      )
    }
    return 'inserted'
  },
  async updateLicense(db: Statements, { licenseKey, resellerId, patch, at }: LicenseUpdate) {
    const own = await first<LicenseRow>(db, `${findLicense} AND reseller_id = ?`, licenseKey, resellerId)
    if (own !== null && (await putLicense(db, { ...toStored(own), ...sent(patch), updatedAt: at })))
      return 'updated'
    return (await first<LicenseRow>(db, findLicense, licenseKey)) === null ? 'not_found' : 'not_owner'
  },
  async findLicense(db: Statements, licenseKey: string) {
    const row = await first<LicenseRow>(db, findLicense, licenseKey)
    return row && toLicense(row)
  },
  async insertClient(db: Statements, client: Client) {
    const { clientId, secretHashes, redirectUris, createdAt, revokedAt } = client
    const { name = null, clientType = null } = client
    if ((await first<ClientRow>(db, findClient, clientId)) !== null) return 'taken'
    const columns = 'client_id, secrets, redirect_uris, created_at, revoked_at, name, client_type'
    const uris = JSON.stringify(redirectUris)
    const values = [clientId, joined(secretHashes), uris, createdAt, revokedAt, name, clientType]
    await db.run(`INSERT INTO clients (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?)`, ...values)
    return 'inserted'
  },
  async updateClient(
    db: Statements,
    clientId: string,
    patch: { readonly name?: string; readonly redirectUris?: readonly string[] },
  ) {
    const row = await first<ClientRow>(db, findClient, clientId)
    return row !== null && putClient(db, { ...toClient(row), ...sent(patch) })
  },
  async rotateClientSecret(db: Statements, clientId: string, newHash: Uint8Array) {
    const row = await first<ClientRow>(db, findClient, clientId)
    if (row === null || row.client_type === 'public') return false
    const client = toClient(row)
    return putClient(db, { ...client, secretHashes: [newHash, ...client.secretHashes.slice(0, 1)] })
  },
  async revokeClient(db: Statements, clientId: string, at: number) {
    const row = await first<ClientRow>(db, findClient, clientId)
    await endCodes(db, { clientId })
    return row !== null && row.revoked_at === null && putClient(db, { ...toClient(row), revokedAt: at })
  },
  async insertAuthorizationCode(db: Statements, hash: Uint8Array, code: AuthorizationCode) {
    const client = await first<ClientRow>(db, findClient, code.clientId)
    if (client !== null && client.revoked_at !== null) throw new StorageError('conflict', 'revoked')
    const { clientId, subject, redirectUri, scope, codeChallenge, expiresAt, redeemedAt } = code
    const values = [hash, clientId, subject, redirectUri, scope, codeChallenge, expiresAt, redeemedAt]
    await db.run('INSERT INTO codes VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL)', ...values)
  },
  async insertReseller(db: Statements, reseller: Reseller) {
    const { resellerId, createdAt, name = null } = reseller
    if ((await first<ResellerRow>(db, 'SELECT * FROM resellers WHERE reseller_id = ?', resellerId)) !== null)
      return 'taken'
    await db.run(
      'INSERT INTO resellers (reseller_id, created_at, name) VALUES (?, ?, ?)',
      resellerId,
      createdAt,
      name,
    )
    return 'inserted'
  },
  async findReseller(db: Statements, resellerId: string) {
    const row = await first<ResellerRow>(db, 'SELECT * FROM resellers WHERE reseller_id = ?', resellerId)
    return row && toReseller(row)
  },
  async recordUse(db: Statements, kind: CredentialKind, ids: readonly string[], at: number) {
    const sql =
      'UPDATE credentials SET last_used_on = ? WHERE kind = ? AND id = ? AND coalesce(last_used_on, -1) < ?'
    // oxlint-disable-next-line no-await-in-loop -- statement after statement on one connection
    for (const id of ids) await db.run(sql, at, kind, id, at)
  },
  async insertCredential(db: Statements, kind: CredentialKind, hash: Uint8Array, credential: Credential) {
    const owner = await first<ResellerRow>(
      db,
      'SELECT * FROM resellers WHERE reseller_id = ?',
      credential.ownerId,
    )
    if (kind === 'reseller_token' && owner === null) return 'no_owner'
    await addCredential(db, kind, hash, credential)
    return 'inserted'
  },
  async revokeCredential(db: Statements, which: CredentialReference, at: number) {
    if ('id' in which) return (await revokeWhere(db, at, 'id = ?', which.id)) > 0
    return (await revokeWhere(db, at, 'hash = ?', which.hash)) > 0
  },
  async revokeAccess(db: Statements, which: AccessReference, at: number) {
    const codes = await endCodes(db, which)
    const kind = 'resellerId' in which ? 'reseller_token' : 'access_token'
    const column = 'subject' in which ? 'subject' : 'owner_id'
    const [name] = Object.values(which) as [string]
    return { codes, tokens: await revokeWhere(db, at, `kind = '${kind}' AND ${column} = ?`, name) }
  },
  async changeLicense(db: Statements, licenseKey: string, change: Partial<NewLicense>, at: number) {
    const row = await first<LicenseRow>(db, findLicense, licenseKey)
    return row !== null && putLicense(db, { ...toStored(row), ...sent(change), updatedAt: at })
  },
  async deleteLicense(db: Statements, licenseKey: string) {
    return (await db.run('DELETE FROM licenses WHERE license_key = ?', licenseKey)) > 0
  },
  async purgeExpired(db: Statements, at: number) {
    const tokens = await db.run("DELETE FROM credentials WHERE kind = 'access_token' AND expires_at <= ?", at)
    const orphaned =
      "NOT EXISTS (SELECT 1 FROM credentials WHERE kind = 'access_token' AND hash = codes.token)"
    const codes = await db.run(`DELETE FROM codes WHERE expires_at <= ? AND ${orphaned}`, at)
    return {
      tokens,
      codes,
      idempotency: await db.run('DELETE FROM idempotency_keys WHERE expires_at <= ?', at),
    }
  },
  async ping(db: Statements) {
    await db.all('SELECT 1')
  },
}

/** Every list of the port, without its call. */
export const lists: Readonly<Record<string, Method>> = {
  async clients(db: Statements, page: Page) {
    const { rows, ...next } = await pageOf<ClientRow>(db, 'clients', page)
    return { clients: rows.map(toClient).map(({ secretHashes: _, ...client }) => client), ...next }
  },
  async resellers(db: Statements, page: Page) {
    const { rows, ...next } = await pageOf<ResellerRow>(db, 'resellers', page)
    return { resellers: rows.map(toReseller), ...next }
  },
  async credentials(
    db: Statements,
    { kind, ownerId, ...page }: Page & { kind: CredentialKind; ownerId?: string },
  ) {
    const [where, values] =
      ownerId === undefined ? ['kind = ?', [kind]] : ['kind = ? AND owner_id = ?', [kind, ownerId]]
    const { rows, ...next } = await pageOf<CredentialRow>(db, 'credentials', page, where, ...values)
    return {
      credentials: rows.map((row) => ({ ...toCredential(row), kind, lastUsedOn: row.last_used_on })),
      ...next,
    }
  },
  async licenses(
    db: Statements,
    { resellerId, comparedDomains = [], status, reference, ...page }: LicensePage,
  ) {
    if (page.endsBefore !== undefined)
      return endingPage(db, { ...page, ...(resellerId !== undefined && { resellerId }) })
    const [conditions, values]: [string[], string[]] = [['1'], []]
    const filter = (condition: string, ...wanted: string[]): void => {
      conditions.push(condition)
      values.push(...wanted)
    }
    if (resellerId !== undefined) filter('reseller_id = ?', resellerId)
    if (comparedDomains.length > 0)
      filter(`compared_domain IN (${comparedDomains.map(() => '?').join(', ')})`, ...comparedDomains)
    if (status !== undefined) filter('status = ?', status)
    if (reference !== undefined) filter('reference = ?', reference)
    const { rows, ...next } = await pageOf<LicenseRow>(
      db,
      'licenses',
      page,
      conditions.join(' AND '),
      ...values,
    )
    return { licenses: rows.map(toLicense), ...next }
  },
  async countLicenses(db: Statements, { resellerId }: { resellerId?: string }) {
    const [where, values] = resellerId === undefined ? ['1', []] : ['reseller_id = ?', [resellerId]]
    const row = await first<{ count: number }>(
      db,
      `SELECT count(*) AS count FROM licenses WHERE ${where}`,
      ...values,
    )
    return Number(row?.count)
  },
}

/** The adapter; `of` may run the statements of a method in another way than {@link transact}. */
export function ownStorage(
  server: OwnServer,
  of: (method: string, args: readonly unknown[]) => Transact = () => transact,
): AdminStorage {
  const state: State = { server, closed: false }
  const inside = new Set<Promise<unknown>>()

  function bind([name, method]: [string, Method]): [string, unknown] {
    return [
      name,
      async (...args: never[]) => {
        if (state.closed) throw new StorageError('unavailable', 'closed')
        const call = args.at(-1) as unknown as StorageCall
        const answer = of(name, args)(state, call, (db) => method(db, ...args.slice(0, -1)))
        const settled: Promise<unknown> = answer.catch(() => {}).then(() => inside.delete(settled))
        inside.add(settled)
        return answer
      },
    ]
  }
  return withCheckedRows({
    ...Object.fromEntries(Object.entries(methods).map(bind)),
    listing: Object.fromEntries(Object.entries(lists).map(bind)),
    async close() {
      state.closed = true
      await Promise.all(inside)
    },
  } as unknown as AdminStorage)
}
