// Programs that a stranger's project runs: plain JavaScript, as none of our tools is there.

/** Imports every entry and prints their names. */
export const importAll = (entries: readonly string[]): string => `
const names = {}
for (const entry of ${JSON.stringify(entries)}) names[entry] = Object.keys(await import(entry)).sort()
console.log(JSON.stringify(names))
`

/** Serves on a real listener and asks once. */
export const serveOnce = `
import { createServer } from 'node:http'
import { createAdmin, createUtilityApi } from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import { memoryStorage } from 'utility-api/storage/memory'

const storage = memoryStorage()
const api = createUtilityApi({ storage })
const server = createServer(toNodeHandler(api))
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
const { token } = await createAdmin({ storage }).createReseller()
const answer = await fetch('http://127.0.0.1:' + server.address().port + '/v2/reseller/licenses/generate', {
  method: 'POST',
  headers: {
    Authorization: 'Bearer ' + token,
    'X-Registered-To': 'Ada',
    'X-Domain-Or-IP': 'shop.example',
    'X-Status': 'valid',
    Connection: 'close',
  },
})
console.log(answer.status, (await answer.json()).data.registered_to)
server.close()
await api.close()
`

/** Compares what the process has before and after importing every entry. */
export const watchImports = (entries: readonly string[]): string => `
const look = () => ({
  globals: Reflect.ownKeys(globalThis).map(String).sort(),
  listeners: process.eventNames().map((name) => String(name) + ' ' + process.listenerCount(name)).sort(),
  environment: JSON.stringify(process.env),
})
const shared = ['Request', 'Response', 'Headers', 'fetch', 'URL', 'Promise', 'Buffer', 'console', 'process', 'setTimeout']
const values = shared.map((name) => globalThis[name])
const prototypes = [Object, Array, String, Promise, Uint8Array, Error].map((each) => Reflect.ownKeys(each.prototype).length)
const before = look()
for (const entry of ${JSON.stringify(entries)}) await import(entry)
const after = look()
console.log(JSON.stringify({
  new: after.globals.filter((name) => !before.globals.includes(name)),
  sameListeners: String(after.listeners) === String(before.listeners),
  sameEnvironment: after.environment === before.environment,
  replaced: shared.filter((name, at) => globalThis[name] !== values[at]),
  samePrototypes: [Object, Array, String, Promise, Uint8Array, Error].every(
    (each, at) => Reflect.ownKeys(each.prototype).length === prototypes[at],
  ),
  handles: process.getActiveResourcesInfo().filter((kind) => !/^(TTYWrap|PipeWrap|FSReqPromise|CloseReq)$/.test(kind)),
}))
`

/** Uses every entry's types, as a strict project would. */
export const typedConsumer = `
import { createServer } from 'node:http'
import Database from 'better-sqlite3'
import { DatabaseSync } from 'node:sqlite'
import { createAdmin, createUtilityApi, UtilityApiError, type RateLimiter, type UtilityApi } from 'utility-api'
import { createBlockgameClient, ServerCheckError } from 'utility-api/blockgame'
import { toBunHandler } from 'utility-api/bun'
import { createDnsClient, type DnsRecord } from 'utility-api/dns'
import { toExpressHandler } from 'utility-api/express'
import { toNodeHandler } from 'utility-api/node'
import { StorageError, type UtilityStorage } from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'
import { postgresStorage, type PostgresPool } from 'utility-api/storage/postgres'
import { sqliteStorage } from 'utility-api/storage/sqlite'
import { fakeDnsServer, storageContract } from 'utility-api/testing'

const storages: UtilityStorage[] = [
  memoryStorage(),
  sqliteStorage(new Database(':memory:')),
  sqliteStorage(new DatabaseSync(':memory:')),
  postgresStorage({} as PostgresPool),
]
const rateLimiter: RateLimiter = { consume: async () => ({ allowed: true }) }
export const api: UtilityApi = createUtilityApi({ storage: storages[0]!, rateLimiter })
createServer(toNodeHandler(api))
toExpressHandler(api, { fallthrough: true })
toBunHandler(api)
export const answer: Promise<Response> = api.fetch(new Request('http://localhost/'))
export const token: Promise<{ token: string }> = createAdmin({ storage: memoryStorage() }).createReseller()
export const addresses = (records: readonly DnsRecord[]): string[] =>
  records.flatMap((record) => (record.type === 'A' ? [record.ip] : []))
export const errors = [UtilityApiError, StorageError, ServerCheckError]
export const rest = [createBlockgameClient, createDnsClient, fakeDnsServer, storageContract]
// @ts-expect-error storage is required
createUtilityApi({})
`

/** Prints the URLs of the files that a program loads, as JSON and nothing else. */
export const countModules = (text: string): string => `
import { writeSync } from 'node:fs'
import { registerHooks } from 'node:module'

const urls = []
registerHooks({
  load(url, context, next) {
    if (url.startsWith('file:')) urls.push(url)
    return next(url, context)
  },
})
process.once('exit', () => writeSync(1, JSON.stringify(urls)))
${text}
`

/** Creates the API and has it answer one request. */
export const firstAnswer = `
const { createUtilityApi } = await import('utility-api')
const { memoryStorage } = await import('utility-api/storage/memory')
const api = createUtilityApi({ storage: memoryStorage() })
const headers = { 'Content-Type': 'application/json' }
const request = new Request('http://localhost/v4/oauth2/token', { method: 'POST', headers, body: '{}' })
const response = await api.fetch(request)
if (response.status !== 400) throw new Error(await response.text())
`

/** Imports one entry and prints what keeps the process busy. A pipe would be standard input. */
export const watchHandles = (entry: string): string => `
await import(${JSON.stringify(entry)})
console.log(JSON.stringify(process.getActiveResourcesInfo()))
`
