// One file of the scale benchmark in a process of its own: `node scale-subject.ts fill|serve <path> <size>`.
import { getHeapSpaceStatistics } from 'node:v8'
import Database from 'better-sqlite3'
import { createUtilityApi, randomKeys, type RequestLike } from 'utility-api'
import { callWithin, type License, type NewLicense } from 'utility-api/storage'
import { sqliteStorage } from 'utility-api/storage/sqlite'
import { hashSecret } from '../../src/domain/secret.ts'
import { license } from '../storage/support/license.ts'

const [mode, path = '', sizeText] = process.argv.slice(2)
const size = Number(sizeText)
/** Every reseller has 200 licenses, whatever the size, so that pages are equally full. */
const resellers = size / 200
const concurrency = 32

const database = new Database(path)
database.pragma(`mmap_size = ${process.env['MMAP_SIZE'] ?? 0}`)
const storage = sqliteStorage(database)
const keys = randomKeys()

/** One license of so many, by number; its key follows from it, so that any can be found without keeping all keys. */
function licenseOf(number: number, licenseKey = keyOf(number)): License {
  const texts = { registeredTo: `Customer ${number}`, domainOrIp: `host-${number}.example.com` }
  const times = { createdAt: number, updatedAt: number }
  return license(licenseKey, { ...texts, resellerId: resellerOf(number), ...times })
}

function withForm(row: License): NewLicense {
  return { ...row, comparedDomain: row.domainOrIp }
}

function resellerOf(number: number): string {
  return `reseller-${number % resellers}`
}

function tokenOf(resellerId: string): string {
  return `token-of-at-least-32-characters-for-${resellerId}`
}

/** Numbers scattered as random keys are: growth in the order of keys would flatter the index. */
function keyOf(number: number): string {
  const scattered = (BigInt(number) * 0x9e3779b97f4a7c15n) & 0xffffffffffffffffn
  return `LIC-${scattered.toString(36).padStart(13, '0')}-${number.toString(36).padStart(13, '0')}`.toUpperCase()
}

async function fill(): Promise<void> {
  await storage.migrate()
  database.exec('PRAGMA cache_size = -400000; PRAGMA synchronous = OFF')
  const columns =
    'license_key, registered_to, domain_or_ip, compared_domain, status, reseller_id, created_at, updated_at'
  const insert = database.prepare(
    `INSERT INTO utility_api_licenses (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  await addTokens()
  const { count } = database.prepare('SELECT count(*) AS count FROM utility_api_licenses').get() as {
    count: number
  }
  for (let start = count; start < size; start += 100_000) {
    const end = Math.min(size, start + 100_000)
    database.exec('BEGIN')
    for (let number = start; number < end; number += 1) {
      const { licenseKey, registeredTo, domainOrIp, status, resellerId, createdAt, updatedAt } =
        licenseOf(number)
      // The domain is in its compared form already.
      insert.run(licenseKey, registeredTo, domainOrIp, domainOrIp, status, resellerId, createdAt, updatedAt)
    }
    database.exec('COMMIT')
    process.stderr.write(`\rfilling ${size}: ${Math.round((100 * end) / size)} %  `)
  }
  process.stderr.write('\n')
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  database.close()
}

/** A token for every reseller. */
async function addTokens(): Promise<void> {
  const ids = Array.from({ length: resellers }, (_, number) => resellerOf(number))
  await Promise.all(ids.map((resellerId) => storage.insertReseller({ resellerId, createdAt: 0 }, call)))
  await Promise.all(
    ids.map((ownerId) => {
      const row = { id: `token-of-${ownerId}`, ownerId, subject: null, scope: '', createdAt: 0 }
      const token = { ...row, expiresAt: null, revokedAt: null }
      return storage.insertCredential('reseller_token', hashSecret(tokenOf(ownerId)), token, call)
    }),
  )
}

const call = callWithin(Infinity)
const any = (below: number): number => Math.floor(Math.random() * below)
let now = 0

const operations: Record<string, () => unknown> = {
  find: () => storage.findLicense(keyOf(any(size)), call),
  update() {
    const number = any(size)
    // Never the time of before: SQLite does not write a row that stays the same.
    const at = (now += 1)
    const patch = { registeredTo: `Customer ${at}` }
    return storage.updateLicense(
      { licenseKey: keyOf(number), resellerId: resellerOf(number), patch, at },
      call,
    )
  },
  generate: () =>
    storage.insertLicense(withForm(licenseOf(any(size), keys.licenseKey('LIC-'))), undefined, call),
  'list 50': () => storage.listing?.licenses({ after: String(any(size / 2)), limit: 50 }, call),
  "list a reseller's 50": () =>
    storage.listing?.licenses(
      { resellerId: resellerOf(any(size)), after: String(any(size / 2)), limit: 50 },
      call,
    ),
  'request: update'() {
    const number = any(size)
    const fields = { 'X-Registered-To': `Customer ${(now += 1)}` }
    return request('PUT', `${keyOf(number)}/update`, resellerOf(number), fields)
  },
  'request: generate'() {
    const fields = {
      'X-Registered-To': 'Customer',
      'X-Domain-Or-IP': 'host.example.com',
      'X-Status': 'valid',
    }
    return request('POST', 'licenses/generate', resellerOf(any(size)), fields)
  },
}

const api = createUtilityApi({ storage, dns: false, blockgame: false })

/** A whole request but for HTTP: what costs the same at every size is little. The fields are headers, as in the contract. */
async function request(method: string, target: string, resellerId: string, fields: object): Promise<void> {
  const headers = new Map(Object.entries({ Authorization: `Bearer ${tokenOf(resellerId)}`, ...fields }))
  const view: RequestLike = {
    method,
    url: `/v2/reseller/${target}`,
    header: (name) => headers.get(name) ?? null,
    body: () => Promise.resolve(new Uint8Array()),
  }
  const { status, body } = await api.dispatch(view)
  if (status !== 200) throw new Error(`${method} ${target} was answered with ${status}: ${body}`)
}

/** Operations a second, with 32 callers at once as a server has them. */
async function measure(name: string, durationMs: number): Promise<number> {
  const start = performance.now()
  let done = 0
  async function caller(): Promise<void> {
    while (performance.now() - start < durationMs) {
      await operations[name]?.()
      done += 1
      // A server's reads come from sockets: the event loop turns between them, and garbage is seen to.
      if (done % concurrency === 0) await new Promise((resolve) => setImmediate(resolve))
    }
  }
  await Promise.all(Array.from({ length: concurrency }, caller))
  return done / ((performance.now() - start) / 1000)
}

/** What the parent is told after each round. */
export interface ScaleResult {
  readonly perSecond: number
  readonly memory: Memory
}

/** The octets that the process holds. */
export interface Memory {
  readonly all: number
  /** V8's young generation: it grows with what a program does at once, up to a limit that Node.js sets. */
  readonly young: number
}

function memoryNow(): Memory {
  const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')
  return { all: process.memoryUsage.rss(), young: young?.physical_space_size ?? Number.NaN }
}

if (mode === 'fill') await fill()
if (mode === 'serve') {
  process.on('message', async ([name, durationMs]: [string, number]) => {
    const perSecond = await measure(name, durationMs)
    process.send?.({ perSecond, memory: memoryNow() } satisfies ScaleResult)
  })
  process.on('disconnect', () => process.exit())
}
