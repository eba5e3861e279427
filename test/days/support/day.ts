import { memoryStorage } from 'utility-api/storage/memory'
import { sequentialKeys } from 'utility-api/testing'
import { createRandom } from '../../../src/testing/contract/random.ts'
import type { Scene, Sometimes } from './day-scene.ts'
import { createLedger } from './ledger.ts'
import { issueCode, makePeople } from './people.ts'
import { countPlaces } from './places.ts'
import { check, type Running } from './running.ts'
import { closeServer, startAdmin, startServer } from './servers.ts'
import { takeStep } from './steps.ts'
import { createUnderWay, settled } from './under-way.ts'
import { takeTime, type VirtualTime } from './virtual-time.ts'

/** What a day was like. */
export interface Day {
  /** Everything that happened, in its order: the same for the same seed. */
  readonly trace: readonly string[]
  readonly counts: ReadonlyMap<Sometimes, number>
}

const steps = 250

/** Lives through one day of a few servers over one store, as a seed decides. Rejects if a rule does not hold. */
export async function liveDay(seed: number): Promise<Day> {
  const time = takeTime()
  const { stackTraceLimit } = Error
  // A day makes a thousand errors on purpose, and nobody reads where.
  Error.stackTraceLimit = 0
  try {
    return await live(seed, time)
  } finally {
    Error.stackTraceLimit = stackTraceLimit
    time.restore()
  }
}

async function live(seed: number, time: VirtualTime): Promise<Day> {
  const trace: string[] = []
  const failures: string[] = []
  const random = createRandom(seed)
  const storage = memoryStorage()
  const counts = new Map<Sometimes, number>()
  const write = (line: string): void => void trace.push(line)
  let jumpedMs = Date.UTC(2026, 0, 1)
  const scene: Scene = {
    random,
    time,
    clock: {
      now: () => jumpedMs + Math.floor(time.now),
      jump(ms) {
        jumpedMs += ms
        scene.jumped = true
      },
    },
    underWay: createUnderWay(random, write),
    ledger: createLedger(storage),
    counts,
    faults: false,
    counting: false,
    jumped: false,
    sequence: { now: 0 },
    trace: write,
    must(holds, what) {
      if (!holds) failures.push(what)
    },
    note: (what) => void counts.set(what, (counts.get(what) ?? 0) + 1),
  }
  const shared = { storage, keyGenerator: sequentialKeys() }
  const admin = startAdmin(scene, shared)
  const people = await pumped(scene, makePeople(admin))
  for (let code = 0; code < 6; code += 1)
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await pumped(scene, issueCode(scene, people, admin))
  const gate = startServer(scene, shared, 'gate', false)
  const servers = [1, 2].map((number) => startServer(scene, shared, `s${number}`, random.chance(40)))
  const day: Running = {
    scene,
    shared,
    people,
    admin,
    gate,
    servers,
    failures,
    seed,
    trace,
    open: new Set(),
    started: 2,
  }
  scene.faults = true
  for (let step = 0; step < steps; step += 1)
    // oxlint-disable-next-line no-await-in-loop -- one step after the other
    await takeStep(day)
  await endDay(day)
  return { trace, counts }
}

/** Lets things happen until a promise has settled. */
async function pumped<Value>(scene: Scene, promise: Promise<Value>): Promise<Value> {
  const state = { isSettled: false }
  const end = (): void => void (state.isSettled = true)
  promise.then(end, end)
  await settled()
  while (!state.isSettled && scene.underWay.release()) {
    // oxlint-disable-next-line no-await-in-loop -- one thing after the other
    await settled()
  }
  return promise
}

/** Lets everything end, and counts what is left. */
async function endDay(day: Running): Promise<void> {
  const { scene, people, servers, gate } = day
  const { time, underWay } = scene
  scene.faults = false
  for (let turn = 0; turn < 20; turn += 1) {
    while (underWay.release())
      // oxlint-disable-next-line no-await-in-loop -- one thing after the other
      await check(day)
    // oxlint-disable-next-line no-await-in-loop -- one thing after the other
    await time.advance(500, () => check(day))
  }
  scene.counting = true
  for (const server of servers.filter(({ state }) => state === 'open'))
    // oxlint-disable-next-line no-await-in-loop -- one server after the other
    await ended(day, countPlaces(scene, people, server))
  const closing = [...servers, gate]
    .filter(({ state }) => state === 'open')
    .map((server) => closeServer(scene, server))
  while (underWay.release())
    // oxlint-disable-next-line no-await-in-loop -- one thing after the other
    await check(day)
  await time.advance(5000, () => check(day))
  // What a killed server was asked is never answered.
  const isKilled = scene.counts.has('server killed')
  await ended(day, Promise.all([...closing, ...(isKilled ? [] : day.open)]))
}

/** Waits for work that nothing outside is waited for any more. Notices, in some turns of the event loop, that it does not end. */
async function ended(day: Running, work: Promise<unknown>): Promise<void> {
  const state = { isDone: false }
  const end = (): void => void (state.isDone = true)
  work.then(end, end)
  let [idle, lines] = [0, day.trace.length]
  while (!state.isDone && idle < 50) {
    // oxlint-disable-next-line no-await-in-loop -- one turn after the other
    await settled()
    idle = day.trace.length === lines ? idle + 1 : 0
    lines = day.trace.length
  }
  if (state.isDone) await work
  else day.scene.must(false, 'something does not end')
  await check(day)
}
