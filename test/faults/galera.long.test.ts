import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'mysql2/promise'
import {
  createAdmin,
  createUtilityApi,
  type Admin,
  type Logger,
  type UtilityApi,
  type UtilityApiError,
} from 'utility-api'
import { callWithin, StorageError } from 'utility-api/storage'
import { mysqlStorage } from 'utility-api/storage/mysql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hashSecret } from '../../src/domain/secret.ts'
import { execute, makePool } from '../storage/support/mysql-server.ts'
import { errorOf } from '../storage/support/error-of.ts'
import { newLicense } from '../storage/support/license.ts'
import { startGalera, whyNoGalera, type Cluster, type Node } from '../storage/support/galera.ts'
import { sendToFetch } from '../http/support/send.ts'
import { grantFields } from '../http/support/grant.ts'
import { jsonRequest } from '../http/support/token-request.ts'

// Three nodes of a Galera cluster that all take writes, and a server on each.

/** GALERA_ROUNDS sets how often each order of two calls on two nodes is tried. */
const rounds = Number(process.env['GALERA_ROUNDS'] ?? 30)
const lanes = 5

interface Server {
  readonly node: Node
  readonly api: UtilityApi
  readonly admin: Admin
  readonly pool: Pool
}

interface Client {
  readonly clientId: string
  readonly clientSecret: string
}

const redirectUri = 'https://shop.example/callback'

/** Why calls were answered 500, by the message. */
const failures = new Map<string, number>()

const logger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error(_message, fields) {
    const why = String((fields as { cause?: unknown } | undefined)?.cause)
    failures.set(why, (failures.get(why) ?? 0) + 1)
  },
}

function serverOn(node: Node, url = node.url): Server {
  const pool = makePool(url, { connectTimeout: 1500 })
  const storage = mysqlStorage(pool)
  const api = createUtilityApi({ storage, logger, dns: false, blockgame: false })
  return { node, pool, api, admin: createAdmin({ storage }) }
}

async function issue({ admin }: Server, { clientId }: Client): Promise<string> {
  return (await admin.issueAuthorizationCode({ clientId, redirectUri, scope: 'read' })).code
}

async function exchange({ api }: Server, client: Client, code: string): Promise<string> {
  const answer = await sendToFetch(api, jsonRequest(grantFields(client, code, redirectUri)))
  const body = answer.json as { access_token?: string }
  requireAnswer(answer.status)
  if (body.access_token === undefined) throw new Error(`exchange: ${answer.status} ${JSON.stringify(body)}`)
  return body.access_token
}

/** Thrown for an answer 500: an outage, not a stale read. */
class Failed extends Error {}

function requireAnswer(status: number): void {
  if (status === 500) throw new Failed()
}

function isOutage(error: unknown): boolean {
  return error instanceof Failed || error instanceof StorageError
}

/** Handles a refusal, but not a failure. */
function unlessFailed(handle: () => void): (error: unknown) => void {
  return (error) => {
    requireAnswer((error as UtilityApiError).status)
    handle()
  }
}

const fields = { 'X-Registered-To': 'Ada', 'X-Domain-Or-IP': 'shop.example', 'X-Status': 'valid' }

async function generate({ api }: Server, token: string): Promise<string> {
  const headers = { Authorization: `Bearer ${token}`, ...fields }
  const answer = await api.fetch(
    new Request('http://localhost/v2/reseller/licenses/generate', { method: 'POST', headers }),
  )
  requireAnswer(answer.status)
  return ((await answer.json()) as { data: { license_key: string } }).data.license_key
}

async function update({ api }: Server, token: string, key: string): Promise<number> {
  const headers = { Authorization: `Bearer ${token}`, 'X-Status': 'invalid' }
  const url = `http://localhost/v2/reseller/${key}/update`
  const { status } = await api.fetch(new Request(url, { method: 'PUT', headers }))
  requireAnswer(status)
  return status
}

/** GALERA_KILLS sets how often all nodes are killed. */
const kills = Number(process.env['GALERA_KILLS'] ?? 2)

/**
 * Kills all nodes within a second, while each takes writes. Returns how many were acknowledged, and how many of these the
 * node does not have that has the most.
 */
async function killAll(flush: 0 | 1): Promise<{ readonly acknowledged: number; readonly lost: number }> {
  // By default the log is written each second.
  const seldom = flush === 0 ? ['--innodb-flush-log-at-timeout=60'] : []
  const cluster = await startGalera([`--innodb-flush-log-at-trx-commit=${flush}`, ...seldom])
  try {
    const pools = cluster.nodes.map(({ url }) => makePool(url, { connectTimeout: 1500 }))
    const storages = pools.map((pool) => mysqlStorage(pool))
    await storages[0]?.migrate()
    const acknowledged: string[] = []
    const load = { isOver: false }
    const lanesOf = storages.flatMap((storage, node) =>
      Array.from({ length: 4 }, async (_, lane) => {
        for (let count = 0; !load.isOver; count += 1) {
          const key = `${node}-${lane}-${count}`
          const insert = async (): Promise<unknown> =>
            storage.insertLicense(newLicense(key), undefined, callWithin(1000))
          // oxlint-disable-next-line no-await-in-loop -- one after the other
          if ((await insert().catch(() => null)) === 'inserted') acknowledged.push(key)
        }
      }),
    )
    await sleep(1500)
    await Promise.all(
      cluster.nodes.map(async (node) => {
        // A node that lives on without the others writes down what it had not: without a flush, all fall at once.
        await sleep(flush * Math.random() * 800)
        node.signal('SIGKILL')
      }),
    )
    load.isOver = true
    await Promise.all(lanesOf)
    await Promise.all(pools.map((pool) => pool.end().catch(() => {})))
    await Promise.all(cluster.nodes.map((node) => node.startAlone()))
    const kept = await Promise.all(
      cluster.nodes.map(async ({ url }) => {
        const rows = (await execute(url, 'SELECT license_key AS k FROM utility_api_licenses')) as {
          k: string
        }[]
        return new Set(rows.map(({ k }) => k))
      }),
    )
    const lost = kept.map((keys) => acknowledged.filter((key) => !keys.has(key)).length)
    return { acknowledged: acknowledged.length, lost: Math.min(...lost) }
  } finally {
    await cluster.stop()
  }
}

const reason = whyNoGalera()
test.runIf(reason)(`Galera: ${reason}`, ({ skip }) => skip(reason ?? ''))

test.skipIf(reason)(
  'if all nodes are killed at once, nothing acknowledged is lost with a flush at each commit, and much without',
  { timeout: 120_000 * (kills + 3) },
  async ({ annotate }) => {
    let unflushed = await killAll(0)
    // The log is also written when pages are, and a kill right after that loses nothing.
    // oxlint-disable-next-line no-await-in-loop -- one cluster after the other
    for (let tries = 1; unflushed.lost === 0 && tries < 3; tries += 1) unflushed = await killAll(0)
    const flushed: (typeof unflushed)[] = []
    // oxlint-disable-next-line no-await-in-loop -- as above
    while (flushed.length < kills) flushed.push(await killAll(1))
    await annotate(`without a flush: ${JSON.stringify(unflushed)}; with one: ${JSON.stringify(flushed)}`)
    expect(unflushed.lost).toBeGreaterThan(0)
    for (const { acknowledged, lost } of flushed) expect([acknowledged > 20, lost]).toEqual([true, 0])
  },
)

describe.skipIf(reason)('Galera', () => {
  let cluster: Cluster
  let servers: Server[]

  beforeAll(async () => {
    cluster = await startGalera()
    servers = cluster.nodes.map((node) => serverOn(node))
    await Promise.all(servers.map(({ pool }) => mysqlStorage(pool).migrate()))
  }, 120_000)

  afterAll(async () => {
    await Promise.all((servers ?? []).map(({ pool }) => pool.end().catch(() => {})))
    await cluster?.stop()
  }, 60_000)

  /** The servers, beginning with another in each round. */
  function from(round: number): [Server, Server, Server] {
    const [a, b, c] = [0, 1, 2].map((step) => servers[(round + step) % 3])
    if (a === undefined || b === undefined || c === undefined) throw new Error('three servers')
    return [a, b, c]
  }

  test('three servers that migrate on three nodes at once all succeed', async () => {
    const starts = Math.max(2, Math.min(10, rounds / 15))
    for (let start = 0; start < starts; start += 1) {
      // On each node: a database that was created on another one may not have arrived yet.
      for (const { node } of from(start)) {
        // oxlint-disable-next-line no-await-in-loop -- one after the other: the first creates it
        await execute(node.url, `CREATE DATABASE IF NOT EXISTS start_${start}`)
      }
      const each = servers.map(({ node: { url } }) => makePool(url.replace('/test', `/start_${start}`)))
      await Promise.all(each.map((pool) => mysqlStorage(pool).migrate()))
      const [rows] = await (each[0] as Pool).query('SELECT version, step FROM utility_api_schema')
      expect(rows).toEqual([{ version: 1, step: 1 }])
      await Promise.all(each.map((pool) => pool.end()))
    }
  }, 300_000)

  test('what one node has acknowledged is there on the others, while another program changes many rows', async ({
    annotate,
  }) => {
    const [first] = from(0)
    await first.pool.query('CREATE TABLE orders (id INT PRIMARY KEY, n INT)')
    await first.pool.query('INSERT INTO orders SELECT seq, 0 FROM seq_1_to_20000')
    const load = { isOver: false }
    const bulk = (async () => {
      while (!load.isOver) await first.pool.query('UPDATE orders SET n = n + 1').catch(() => {})
    })()
    const client = await first.admin.createClient({ redirectUris: [redirectUri] })
    const { token: reseller } = await first.admin.createReseller()
    const stale: string[] = []
    const count = { started: 0, played: 0 }
    async function play(round: number): Promise<void> {
      const [a, b, c] = from(round)
      const token = await exchange(b, client, await issue(a, client))
      await c.api.verifyAccessToken(token).catch(unlessFailed(() => stale.push('exchange, verify')))
      await c.admin.revoke({ secret: token })
      const isRefused = a.api.verifyAccessToken(token).then(() => stale.push('revoke, verify'))
      await isRefused.catch(unlessFailed(() => {}))
      const status = await update(b, reseller, await generate(a, reseller))
      if (status !== 200) stale.push(`create, update: ${status}`)
    }
    // On a busy machine some calls have no time left: their rounds are played again.
    async function lane(): Promise<void> {
      while (count.played < rounds && count.started < 2 * rounds) {
        count.started += 1
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        await play(count.started).then(
          () => (count.played += 1),
          (error: unknown) => isOutage(error) || stale.push(String(error)),
        )
      }
    }
    await Promise.all(Array.from({ length: lanes }, lane))
    load.isOver = true
    await bulk
    const why = JSON.stringify(Object.fromEntries(failures))
    await annotate(`${count.played} of ${count.started} rounds, stale: ${stale.length}; failures: ${why}`)
    expect(stale).toEqual([])
    expect(count.played).toBeGreaterThanOrEqual(rounds)
  }, 900_000)

  test('a client that is revoked on one node has no codes left that others were issuing', async () => {
    let left = 0
    let codes = 0
    for (let round = 0; round < Math.max(10, rounds / 5); round += 1) {
      const [a, b, c] = from(round)
      const client = await a.admin.createClient({ redirectUris: [redirectUri] })
      const before = await issue(b, client).catch(() => null)
      const issued = [b, c, b, c].map((server) => issue(server, client).catch(() => null))
      await sleep(Math.random() * 5)
      await a.admin.revokeClient(client.clientId)
      // A call that fails may leave a code that nobody has got.
      const all = [before, ...(await Promise.all(issued))]
      const hashes = all.flatMap((code) => (code === null ? [] : [hashSecret(code)]))
      codes += hashes.length
      const connection = await c.pool.getConnection()
      await connection.query('SET SESSION wsrep_sync_wait = 1')
      const [rows] = await connection.query(
        'SELECT hash FROM utility_api_codes WHERE client_id = ? AND redeemed_at IS NULL',
        [client.clientId],
      )
      connection.release()
      left += (rows as { hash: Buffer }[]).filter(({ hash }) =>
        hashes.some((each) => hash.equals(each)),
      ).length
    }
    expect(left).toBe(0)
    expect(codes).toBeGreaterThan(0)
  }, 300_000)

  test('a node that is cut off is unhealthy, the others go on, and nothing acknowledged is lost', async () => {
    const [a, b, c] = from(0)
    const { token } = await a.admin.createReseller()
    const acknowledged: string[] = []
    async function write(server: Server, times: number): Promise<number> {
      const generated = await Promise.allSettled(Array.from({ length: times }, () => generate(server, token)))
      const keys = generated.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
      acknowledged.push(...keys)
      return keys.length
    }
    const stateOf = async ({ api }: Server): Promise<string> => (await api.health()).storage
    const until = async (server: Server, state: string): Promise<void> => {
      while ((await stateOf(server)) !== state) await sleep(50)
    }
    expect(await Promise.all([a, b, c].map(stateOf))).toEqual(['ok', 'ok', 'ok'])

    await c.node.cutOff(true)
    await Promise.all([write(a, 20), write(b, 20), write(c, 20)])
    await c.node.untilReady(false)
    expect(await stateOf(c)).toBe('failed')
    const fresh = makePool(c.node.url)
    const errors = [
      await errorOf(() => mysqlStorage(c.pool).migrate()),
      await errorOf(() => mysqlStorage(c.pool).findClient('a', callWithin(5000))),
      await errorOf(() => mysqlStorage(fresh).migrate()),
    ]
    await fresh.end()
    for (const { kind, message } of errors)
      expect([kind, message]).toEqual(['unavailable', expect.stringContaining('the node is cut off')])
    expect(await write(c, 5)).toBe(0)
    await until(a, 'ok')
    expect(await write(a, 5)).toBe(5)
    await c.node.cutOff(false)
    await c.node.untilReady(true)
    await until(c, 'ok')
    expect(await write(c, 5)).toBe(5)

    c.node.signal('SIGSTOP')
    await Promise.all([write(a, 20), write(b, 20)])
    await until(b, 'ok')
    expect(await write(b, 5)).toBe(5)
    expect(await stateOf(c)).toBe('failed')
    c.node.signal('SIGCONT')
    await c.node.untilReady(true)
    await until(c, 'ok')

    c.node.signal('SIGKILL')
    await Promise.all([write(a, 20), write(b, 20)])
    await until(a, 'ok')
    expect(await write(a, 5)).toBe(5)
    expect(await stateOf(c)).toBe('failed')

    const kept = await Promise.all(acknowledged.map((key) => b.api.findLicense(key)))
    expect(kept.filter((license) => license === null)).toEqual([])
    expect(acknowledged.length).toBeGreaterThan(20)
  }, 300_000)
})
