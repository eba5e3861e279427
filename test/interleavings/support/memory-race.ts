import { createAdmin, createUtilityApi } from 'utility-api'
import type { AdminStorage } from 'utility-api/storage'
import { fixedClock } from 'utility-api/testing'
import { adminStorageMethods, timedAdminStorage } from '../../../src/storage/timed-admin-storage.ts'
import { scheduledStore, type Fate, type Scheduler } from '../../days/support/scheduled-store.ts'
import { takeTime } from '../../days/support/virtual-time.ts'
import type { Choose } from './every-way.ts'
import { Race, type Lane } from './race.ts'
import type { Plant, Steps } from './planted.ts'
import type { Call } from './requests.ts'
import { keysOf, now, type Server } from './world.ts'

const fates: readonly Fate[] = ['done', 'refused', 'hangs', 'lost', 'done and hangs']
/** A read that is done and not answered is one that was not done. */
const fatesOfReads = fates.slice(0, 3)

export interface RaceOptions {
  readonly store: AdminStorage
  /** Whether a step may have a fault: one of all. */
  readonly faults: boolean
  readonly plant?: Plant
}

/**
 * Makes two calls of two servers over one store that does each call of the port in one step.
 *
 * An answer is delivered in the step that it answers: servers share nothing but the store, so until the next step of the
 * call, nobody can tell when it came. For the same reason the deadline of a step that hangs passes last: its call has
 * no time for another step then.
 */
export async function raceOnMemory(
  calls: readonly [Call, Call],
  choose: Choose,
  { store, faults, plant = () => ({}) }: RaceOptions,
): Promise<Race> {
  const time = takeTime()
  try {
    const race = new Race()
    let faultLeft = faults
    for (const [index, { name, use }] of servers.entries()) {
      const lane = race.lanes[index] as Lane
      const scheduler: Scheduler = {
        underWay: { add: (label, happen) => (label.includes(': ') ? happen() : lane.wait(happen)) },
        fateOf(method) {
          const possible = method.startsWith('find') ? fatesOfReads : fates
          const fate = (faultLeft ? possible[choose(possible.length)] : undefined) ?? 'done'
          if (fate !== 'done') lane.hadFault = true
          faultLeft &&= fate === 'done'
          return fate
        },
        must(holds, what) {
          if (!holds) throw new Error(what)
        },
        trace: () => lane.become('hangs'),
        note() {},
        callerOf: () => undefined,
        applied: () => undefined,
      }
      const seen = scheduledStore(scheduler, store, { name, state: 'open', calls: new Set() })
      const changed = { ...seen, ...plant(seen as unknown as Steps) }
      void lane.follow((calls[index] as Call).ask(use({ ...changed, ...timedAdminStorage(changed) })))
    }
    await race.run(choose, { goOn: () => time.advance(time.untilNext() ?? 0, async () => {}) })
    return race
  } finally {
    time.restore()
  }
}

/** To make a server takes longer than a race, so each serves one store after the other. */
const servers = ['a', 'b'].map((name) => {
  let current: AdminStorage
  const methods = [...adminStorageMethods, 'recordUse' as const].map((method) => [
    method,
    (...args: unknown[]) => (current[method] as (...of: unknown[]) => unknown)(...args),
  ])
  const server = serverOf(name, Object.fromEntries(methods) as AdminStorage)
  return { name, use: (storage: AdminStorage) => ((current = storage), server) }
})

export function serverOf(name: string, storage: AdminStorage): Server {
  const shared = { storage, clock: fixedClock(now), keyGenerator: keysOf(name) }
  const api = createUtilityApi({ ...shared, dns: false, blockgame: false, logger: false })
  return { name, storage, api, admin: createAdmin(shared) }
}
