/** The day of the last use, with two servers on one database, over ten days by their clock, and with servers killed. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { createAdmin, type Admin } from 'utility-api'
import { expect, test } from 'vitest'
import { startPostgres } from '../storage/support/postgres-server.ts'
import { temporaryFile } from '../storage/support/sqlite-fixture.ts'
import { pick, randomFrom, type Random } from '../fuzz/random.ts'
import type { Use } from './uses/server.ts'
import { openUses, type UsesStore } from './uses/store.ts'

/** USES sets how many uses there are; USES_SEED repeats the choices of a run. */
const count = Number(process.env['USES'] ?? 5000)
const seed = Number(process.env['USES_SEED'] ?? Math.floor(Math.random() * 2 ** 32))
const timeout = 60_000 + count * 10

const dayMs = 86_400_000
const days = 10
const start = 20_000 * dayMs
/** What a server that is killed may lose. */
const intervalMs = 60_000
const killsOfEach = 3

const program = fileURLToPath(new URL('uses/server.ts', import.meta.url))
const sources = new URL('../support/sources.ts', import.meta.url).href

interface Key {
  readonly id: string
  readonly kind: Use['kind']
  readonly secret: string
}

/** A use, and of which key. */
type KeyUse = Use & { readonly id: string }

function dayOf(time: number): number {
  return time - (time % dayMs)
}

async function makeKeys(admin: Admin, amount: number): Promise<readonly Key[]> {
  const { resellerId, resellerTokenId, token } = await admin.createReseller()
  const first: Key = { id: resellerTokenId, kind: 'reseller_token', secret: token }
  const others = await Promise.all(
    Array.from({ length: amount - 1 }, async (_, index): Promise<Key> => {
      if (index % 2 === 0) {
        const { apiKeyId: id, apiKey: secret } = await admin.createApiKey()
        return { id, kind: 'api_key', secret }
      }
      const { resellerTokenId: id, token: secret } = await admin.createResellerToken(resellerId)
      return { id, kind: 'reseller_token', secret }
    }),
  )
  return [first, ...others]
}

/** Uses at random, in the order of their times. */
function makeUses(random: Random, keys: readonly Key[]): readonly KeyUse[] {
  const times = Array.from({ length: count }, () => start + random(days * dayMs)).toSorted((a, b) => a - b)
  return times.map((at, index) => ({ index, at, ...pick(random, keys) }))
}

/** The day of the last use of every key, as it is listed. */
async function lastUses(admin: Admin): Promise<ReadonlyMap<string, number | null>> {
  const found = new Map<string, number | null>()
  for (const kind of ['api_key', 'reseller_token'] as const) {
    let after: string | undefined
    do {
      // oxlint-disable-next-line no-await-in-loop -- each page says where the next one starts
      const page = await admin.listCredentials({ kind, limit: 1000, ...(after !== undefined && { after }) })
      for (const { id, lastUsedOn } of page.credentials) found.set(id, lastUsedOn)
      after = page.next
    } while (after !== undefined)
  }
  return found
}

interface ServerReport {
  readonly written: number
  readonly kills: number
  /** Uses that were answered, and not recorded when their server was killed. */
  readonly lost: number
}

async function startServer(store: string): Promise<ChildProcess> {
  const child = fork(program, [store], {
    execArgv: ['--import', sources],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  await once(child, 'message')
  return child
}

/** Sends uses to a server. Resolves when it has answered so many, with the number of rows that it has written. */
function answered(child: ChildProcess, uses: readonly KeyUse[], enough: number): Promise<number> {
  return new Promise((resolve) => {
    let answers = 0
    child.on('message', (written) => {
      answers += 1
      if (answers === enough) resolve(Number(written))
    })
    child.send(uses)
  })
}

/** Puts one server through its uses. It is killed now and then, in the middle of them, and another one goes on. */
async function serveUses(store: string, all: readonly KeyUse[], admin: Admin): Promise<ServerReport> {
  let uses = all
  let lost = 0
  let written = 0
  const part = Math.floor(all.length / (killsOfEach + 1))
  for (let kill = 1; kill <= killsOfEach; kill += 1) {
    // oxlint-disable-next-line no-await-in-loop
    const child = await startServer(store)
    // oxlint-disable-next-line no-await-in-loop
    written += await answered(child, uses, part)
    const exit = once(child, 'exit')
    child.kill('SIGKILL')
    // oxlint-disable-next-line no-await-in-loop
    await exit
    // oxlint-disable-next-line no-await-in-loop
    lost += missing(uses.slice(0, part), await lastUses(admin))
    uses = uses.slice(part)
  }
  const child = await startServer(store)
  await answered(child, uses, uses.length)
  child.send('close')
  const [atLast] = (await once(child, 'message')) as [number]
  await once(child, 'exit')
  return { written: written + atLast, kills: killsOfEach, lost }
}

/** Counts what a kill has lost. Throws if it was older than what servers collect between two reports. */
function missing(uses: readonly KeyUse[], recorded: ReadonlyMap<string, number | null>): number {
  const end = uses.at(-1)?.at ?? 0
  const unrecorded = uses.filter(({ id, at }) => (recorded.get(id) ?? 0) < dayOf(at))
  expect(unrecorded.filter(({ at }) => at <= end - intervalMs)).toEqual([])
  return unrecorded.length
}

async function rehearse(store: string, { storage, countRows }: UsesStore): Promise<object> {
  await storage.migrate()
  const admin = createAdmin({ storage, clock: { now: () => start } })
  const random = randomFrom(seed)
  const keys = await makeKeys(admin, Math.ceil(count / 100))
  const uses = makeUses(random, keys)
  const halves = [uses.filter(({ index }) => index % 2 === 0), uses.filter(({ index }) => index % 2 === 1)]
  const reports = await Promise.all(halves.map((half) => serveUses(store, half, admin)))
  const recorded = await lastUses(admin)
  const last = new Map(uses.map(({ id, at }) => [id, dayOf(at)]))
  const errors = [...last].map(([id, day]) => (day - (recorded.get(id) ?? 0)) / dayMs)
  expect(errors.filter((error) => error < 0 || error > 1)).toEqual([])
  expect(recorded.size, 'one row a key').toBe(keys.length)
  expect(await countRows(), 'one row a key').toBe(keys.length)
  const written = reports.reduce((sum, each) => sum + each.written, 0)
  // Once a key and day at most, by each server, and again by the one that goes on for one that was killed.
  expect(written).toBeLessThanOrEqual(keys.length * 2 * (days + killsOfEach))
  return {
    seed,
    uses: uses.length,
    keys: keys.length,
    exact: errors.filter((error) => error === 0).length,
    dayBehind: errors.filter((error) => error === 1).length,
    kills: reports.reduce((sum, each) => sum + each.kills, 0),
    lostByKills: reports.reduce((sum, each) => sum + each.lost, 0),
    rowsWritten: written,
  }
}

test('two servers on SQLite, killed now and then', { timeout }, async ({ task }) => {
  const { path, remove } = temporaryFile()
  const opened = openUses(path)
  Object.assign(task.meta, { figures: await rehearse(path, opened) })
  await opened.close()
  remove()
})

test('two servers on PostgreSQL, killed now and then', { timeout }, async ({ task }) => {
  const postgres = await startPostgres()
  const url = await postgres.createDatabase()
  const opened = openUses(url)
  Object.assign(task.meta, { figures: await rehearse(url, opened) })
  await opened.close()
  await postgres.stop()
})
