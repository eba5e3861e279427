/** Faults at random under load, and clocks that jump: what was answered is there, and what was refused can be repeated. */
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from 'utility-api'
import type { AdminStorage } from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'
import { sqliteStorage } from 'utility-api/storage/sqlite'
import { expect, test } from 'vitest'
import { temporaryFile } from '../../storage/support/sqlite-fixture.ts'
import { pick, randomFrom, type Random } from '../../fuzz/random.ts'
import { createWorld, issueCodes, startLoad, type World } from '../load.ts'
import { HttpHistory } from '../../histories/support/http-history.ts'
import { verifyLedger, verifyPairs, verifyRepeats } from '../verify.ts'
import { faults, faultyStorage } from './faulty.ts'
import { serveHere } from './serve.ts'

/** STORM_ROUNDS sets how many seconds each storm lasts; STORM_SEED repeats the choices of a run. */
const seconds = Number(process.env['STORM_ROUNDS'] ?? 1)
const seed = Number(process.env['STORM_SEED'] ?? Math.floor(Math.random() * 2 ** 32))
const timeout = 60_000 + seconds * 3000

const storageTimeoutMs = 100

/** One call in ten goes wrong, in one way or another, while `calm` says no. */
function stormy(good: AdminStorage, random: Random, isCalm: () => boolean): AdminStorage {
  const ways = Object.values(faults(2 * storageTimeoutMs))
  return faultyStorage(good, (asked) => {
    if (isCalm() || random(10) > 0) return asked.work()
    return pick(random, ways).answer(asked)
  })
}

async function loadFor(world: World, origin: string): Promise<void> {
  const stop = startLoad(world, [origin])
  for (let second = 0; second < seconds; second += 1) {
    await issueCodes(world, Math.max(0, 1000 - world.codes.length))
    await sleep(1000)
  }
  await stop()
}

function figuresOf({ ledger }: World): object {
  const { statuses, licenses, tokens, unanswered, maybeSpent, maybe } = ledger
  return {
    seed,
    seconds,
    statuses: Object.fromEntries(statuses),
    acknowledged: { licenses: licenses.size, tokens: tokens.size },
    unanswered: { generate: unanswered.size, update: maybe.size, exchange: maybeSpent.size },
  }
}

async function storm(good: AdminStorage): Promise<World> {
  const world = await createWorld(good)
  let calm = false
  const storage = stormy(good, randomFrom(seed), () => calm)
  const server = await serveHere({ storage, storageTimeoutMs })
  await loadFor(world, server.origin)
  calm = true
  expect([...world.ledger.statuses.keys()].toSorted()).toEqual([200, 500])
  // What was given up on ends before the rows are counted.
  await sleep(4 * storageTimeoutMs)
  await verifyLedger(world)
  await server.close()
  const calmServer = await serveHere({ storage: good })
  await verifyRepeats(world, calmServer.origin)
  await calmServer.close()
  return world
}

test('a storm of faults over memory', { timeout }, async ({ task }) => {
  const world = await storm(memoryStorage())
  Object.assign(task.meta, { figures: figuresOf(world) })
})

test('a storm of faults over SQLite', { timeout }, async ({ task }) => {
  const { path, remove } = temporaryFile()
  const database = new DatabaseSync(path)
  const storage = sqliteStorage(database)
  await storage.migrate()
  const world = await storm(storage)
  Object.assign(task.meta, { figures: figuresOf(world) })
  await verifyPairs(async (sql) => (database.prepare(sql).get() as { count: number }).count)
  expect(database.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
  database.close()
  remove()
})

test('a clock that jumps back and forth by hours at every reading', { timeout }, async ({ task }) => {
  const random = randomFrom(seed)
  const hours = 11
  // Less than half of the day that an idempotency key is kept.
  const clock: Clock = { now: () => Date.now() + (random(2 * hours * 60) - hours * 60) * 60_000 }
  const storage = memoryStorage()
  const world = await createWorld(storage, new HttpHistory({ codesExpire: true }))
  const server = await serveHere({ storage, clock })
  await loadFor(world, server.origin)
  Object.assign(task.meta, { figures: figuresOf(world) })
  // 400: by the clock of that moment the code had expired.
  expect([...world.ledger.statuses.keys()].toSorted()).toEqual([200, 400])
  await verifyLedger(world)
  await server.close()
  const steady = await serveHere({ storage })
  await verifyRepeats(world, steady.origin)
  await steady.close()
})
