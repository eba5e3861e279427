/** All five operations at once on 32 connections, one request in ten hostile: it stays as it was, and every answer is right. */
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AdminStorage } from 'utility-api/storage'
import { postgresStorage } from 'utility-api/storage/postgres'
import { sqliteStorage } from 'utility-api/storage/sqlite'
import { expect, test } from 'vitest'
import { makePool, startPostgres } from '../storage/support/postgres-server.ts'
import { temporaryFile } from '../storage/support/sqlite-fixture.ts'
import { pick, randomFrom, type Random } from '../fuzz/random.ts'
import { createWorld } from './load.ts'
import { createClient, type Client } from './mixed/client.ts'
import { honestWork, type Work } from './mixed/honest.ts'
import { hostileWork } from './mixed/hostile.ts'
import { startRemotes, type Remotes } from './mixed/remotes.ts'
import type { Holdings } from './server.ts'
import { startServer, type ServerProcess } from './start.ts'
import { verifyLedger } from './verify.ts'

/** LOAD_SECONDS sets how long each store is loaded; LOAD_SEED repeats the choices of a run. */
const seconds = Number(process.env['LOAD_SECONDS'] ?? 5)
const seed = Number(process.env['LOAD_SEED'] ?? Math.floor(Math.random() * 2 ** 32))
const timeout = 90_000 + seconds * 2000
const connections = 32
const windows = 10
/** Until caches are full and code is compiled. */
const warmUpWindows = 3
const megabyte = 1024 * 1024

interface Window extends Holdings {
  readonly answers: number
  readonly medianMs: number
  readonly p99Ms: number
}

async function work(
  client: Client,
  random: Random,
  honest: readonly Work[],
  hostile: readonly Work[],
): Promise<void> {
  try {
    await pick(random, random(10) === 0 ? hostile : honest)()
  } catch (error) {
    client.report(`no answer: ${String(error)}`)
  }
}

async function measure(client: Client, server: ServerProcess): Promise<Window> {
  const latencies = client.latencies.splice(0).toSorted((one, other) => one - other)
  const at = (share: number): number => Math.round(latencies[Math.floor(latencies.length * share)] ?? 0)
  return { answers: latencies.length, medianMs: at(0.5), p99Ms: at(0.99), ...(await server.holdings()) }
}

async function load(
  client: Client,
  server: ServerProcess,
  remotes: Remotes,
  [honest, hostile]: readonly [readonly Work[], readonly Work[]],
): Promise<Window[]> {
  const random = randomFrom(seed)
  const stop = new AbortController()
  const workers = Array.from({ length: connections }, async () => {
    while (!stop.signal.aborted) await work(client, random, honest, hostile)
  })
  const seen: Window[] = []
  for (let window = 0; window < windows; window += 1) {
    await sleep((seconds * 1000) / windows)
    remotes.forget()
    seen.push(await measure(client, server))
  }
  stop.abort()
  await Promise.all(workers)
  return seen
}

async function loaded(store: string, storage: AdminStorage, note: (figures: object) => void): Promise<void> {
  const world = await createWorld(storage)
  const { accessToken } = await world.admin.createAccessToken({ scope: 'dns:check' })
  const { apiKey } = await world.admin.createApiKey()
  const holder = { ...world, accessToken, apiKey }
  const remotes = await startRemotes()
  const server = await startServer(store, remotes.resolverPort)
  const client = createClient(Number(new URL(server.origin).port), connections)
  const idle = await server.holdings()
  const works = [honestWork(client, holder, remotes), hostileWork(client, holder, remotes)] as const
  const seen = await load(client, server, remotes, works)
  const { answered, late, findings } = client
  client.close()
  const [first, last] = [seen[warmUpWindows], seen.at(-1)] as [Window, Window]
  const held = { idle: inMegabytes(idle), first: inMegabytes(first), last: inMegabytes(last) }
  note({ seed, seconds, answered, late, ...held })
  expect(server.running()).toBe(true)
  expect([...findings], `seed ${seed}`).toEqual([])
  await expect
    .poll(async () => (await server.holdings()).handles, { timeout: 20_000 })
    .toBeLessThan(idle.handles + 30)
  await verifyLedger(holder)
  await server.kill()
  await remotes.close()
  // A moment can have a cache full of large answers more than another; a leak stays in all of them.
  const leastHeap = Math.min(...seen.slice(-3).map(({ heap }) => heap))
  expect(leastHeap, JSON.stringify(seen)).toBeLessThan(first.heap * 1.25 + 8 * megabyte)
  expect(last.rss, JSON.stringify(seen)).toBeLessThan(first.rss * 1.25 + 64 * megabyte)
  expect(last.handles, JSON.stringify(seen)).toBeLessThan(first.handles + 4 * connections)
  // A few seconds of a busy machine say nothing of time.
  if (seconds < 60) return
  expect(last.medianMs, JSON.stringify(seen)).toBeLessThan(3 * first.medianMs + 50)
  expect(late, 'refused because a deadline was over').toBeLessThan(answered / 500)
}

function inMegabytes<Held extends Holdings>(held: Held): Held {
  return { ...held, rss: Math.round(held.rss / megabyte), heap: Math.round(held.heap / megabyte) }
}

test('on SQLite', { timeout }, async ({ task }) => {
  const { path, remove } = temporaryFile()
  const database = new DatabaseSync(path)
  const storage = sqliteStorage(database)
  await storage.migrate()
  await loaded(path, storage, (figures) => Object.assign(task.meta, { figures }))
  expect(database.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
  database.close()
  remove()
})

test('on PostgreSQL', { timeout }, async ({ task }) => {
  const postgres = await startPostgres()
  const url = await postgres.createDatabase()
  const pool = makePool(url)
  const storage = postgresStorage(pool)
  await storage.migrate()
  await loaded(url, storage, (figures) => Object.assign(task.meta, { figures }))
  await pool.end()
  await postgres.stop()
})
