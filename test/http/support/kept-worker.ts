// Prints how many octets a request of each operation leaves behind when short garbage collections alone have run:
// `node --expose-gc --min-semi-space-size=64 --max-semi-space-size=64 --import ./test/support/sources.ts`, and this file.
import { hash } from 'node:crypto'
import { createAdmin, createUtilityApi, type DnsAnswer, type ServerStatus } from 'utility-api'
import type { AuthorizationCode, Client } from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'
import { redirectUri } from './grant.ts'

declare const gc: (options: { type: 'minor' | 'major' }) => void

const requestsAtOnce = 32
const requestsInARow = 8
const turns = 50

const turnOfTheLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

async function after<Value>(value: Value): Promise<Value> {
  await turnOfTheLoop()
  return value
}

const answer: DnsAnswer = { status: 'NODATA', records: [], cnameChain: [], transport: 'udp', latencyMs: 1 }
const status: ServerStatus = {
  ip: '192.0.2.1',
  port: 25_565,
  players: { online: 1, max: 2 },
  version: { name: '1', protocol: 1 },
  latencyMs: 1,
  srvRecord: null,
  description: '',
}
const client: Client = {
  clientId: 'client',
  secretHashes: [hash('sha256', 'secret', 'buffer')],
  redirectUris: [redirectUri],
  createdAt: 0,
  revokedAt: null,
}
const code: AuthorizationCode = {
  clientId: client.clientId,
  subject: null,
  redirectUri,
  scope: '',
  codeChallenge: null,
  expiresAt: Number.MAX_SAFE_INTEGER,
  redeemedAt: null,
}
// One code that is good any number of times, so that nothing is stored.
const storage = {
  ...memoryStorage(),
  findClient: () => client,
  findAuthorizationCode: () => code,
  redeemAuthorizationCode: () => after(true),
}
const api = createUtilityApi({
  storage,
  dns: { client: { query: () => after(answer), close: () => Promise.resolve() }, cacheTtlMs: 0 },
  blockgame: { client: { status: () => after(status), close: () => Promise.resolve() } },
})
const admin = createAdmin({ storage })
const { accessToken } = await admin.createAccessToken({ scope: '' })
const { apiKey } = await admin.createApiKey()

async function request(
  method: string,
  url: string,
  headers: Readonly<Record<string, string>>,
  body = '',
): Promise<void> {
  const reply = await api.dispatch({
    method,
    url,
    header: (name) => headers[name] ?? null,
    body: () => after(Buffer.from(body)),
    signal: new AbortController().signal,
  })
  reply.written()
  if (reply.status !== 200) throw new Error(`${url}: ${reply.body}`)
}

const exchange = JSON.stringify({
  grant_type: 'authorization_code',
  code: 'code',
  redirect_uri: redirectUri,
  client_id: client.clientId,
  client_secret: 'secret',
})
let last = 0
const operations: Readonly<Record<string, () => Promise<void>>> = {
  exchangeToken: () => request('POST', '/v4/oauth2/token', { 'Content-Type': 'application/json' }, exchange),
  checkDns: () =>
    request('GET', '/v3/tools/dnscheck', {
      Authorization: `Bearer ${accessToken}`,
      'X-Domain': `n${(last += 1)}.example.com`,
      'X-Record-Type': 'A',
    }),
  lookUpGameServer: () =>
    request('GET', '/v4/games/blockgame/lookup', {
      Basic: apiKey,
      'X-Address': `n${(last += 1)}.example.com`,
    }),
}

async function send(operation: () => Promise<void>): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) {
    const requests = Array.from({ length: requestsAtOnce }, async () => {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      for (let done = 0; done < requestsInARow; done += 1) await operation()
    })
    // Some are under way whenever it is collected, as in a server.
    // oxlint-disable-next-line no-await-in-loop -- turn after turn
    await turnOfTheLoop()
    gc({ type: 'minor' })
    // oxlint-disable-next-line no-await-in-loop -- turn after turn
    await Promise.all(requests)
  }
}

const kept: Record<string, number> = {}
for (const [name, operation] of Object.entries(operations)) {
  // oxlint-disable-next-line no-await-in-loop -- one after the other
  await send(operation)
  gc({ type: 'major' })
  const before = process.memoryUsage().heapUsed
  // oxlint-disable-next-line no-await-in-loop -- one after the other
  await send(operation)
  gc({ type: 'minor' })
  gc({ type: 'minor' })
  kept[name] = (process.memoryUsage().heapUsed - before) / (requestsInARow * turns * requestsAtOnce)
}
console.log(JSON.stringify(kept))
