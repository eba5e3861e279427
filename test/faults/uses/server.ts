// A server in a process of its own, to be killed: `node --import test/support/sources.ts test/faults/uses/server.ts STORE`.
// It is sent uses of credentials, each with its time, and lives by that clock: a minute of waiting is over when a use says so.
// It answers each use that was accepted with the number of rows that it has written so far.
import timers from 'node:timers'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { AdminStorage } from 'utility-api/storage'

/** A use of a credential. */
export interface Use {
  /** Its position in the whole list. */
  readonly index: number
  readonly at: number
  readonly kind: 'api_key' | 'reseller_token'
  readonly secret: string
}

let now = 0
/** What waits for a minute of the uses' clock. */
let waiting: { readonly until: number; readonly work: () => void }[] = []
const { setTimeout: realTimeout } = timers
const reportIntervalMs = 60_000

timers.setTimeout = Object.assign((work: () => void, milliseconds: number, ...rest: unknown[]) => {
  if (milliseconds !== reportIntervalMs) return realTimeout(work, milliseconds, ...rest)
  waiting.push({ until: now + milliseconds, work })
  return realTimeout(() => {}, 0)
}, realTimeout)
// The library takes its timers when it is loaded.
const { createUtilityApi } = await import('utility-api')
const { openUses } = await import('./store.ts')

let written = 0
/** Reports under way. */
const reporting = new Set<object>()

function counted(storage: AdminStorage): AdminStorage {
  return {
    ...storage,
    async recordUse(kind, ids, ...rest) {
      reporting.add(ids)
      await storage.recordUse?.(kind, ids, ...rest)
      reporting.delete(ids)
      written += ids.length
    },
  }
}

const { storage, close } = openUses(process.argv[2] ?? '')
const api = createUtilityApi({
  storage: counted(storage),
  clock: { now: () => now },
  dns: false,
  blockgame: false,
})

async function moveTo(time: number): Promise<void> {
  now = time
  const due = waiting.filter(({ until }) => until <= now)
  if (due.length === 0) return
  waiting = waiting.filter((each) => !due.includes(each))
  for (const { work } of due) work()
  // A report is several calls, one for each kind and day.
  do {
    // oxlint-disable-next-line no-await-in-loop
    await nextTurn()
  } while (reporting.size > 0)
}

async function use({ at, kind, secret }: Use): Promise<void> {
  await moveTo(at)
  await (kind === 'api_key' ? api.verifyApiKey(secret) : api.verifyResellerToken(secret))
  process.send?.(written)
}

async function take(uses: readonly Use[] | 'close'): Promise<void> {
  if (uses !== 'close') {
    // oxlint-disable-next-line no-await-in-loop -- the clock moves from each to the next
    for (const each of uses) await use(each)
    return
  }
  await api.close()
  await close()
  process.send?.(written)
  process.disconnect()
}

let last = Promise.resolve()
process.on('message', (uses: readonly Use[] | 'close') => {
  last = last.then(() => take(uses))
})
process.on('disconnect', () => process.exit())
process.send?.('ready')
