import type { AdminStorage } from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'
import { bindAdmin } from '../../../src/testing/contract/bound.ts'
import { createModel, type Model } from '../../../src/testing/contract/model.ts'
import { inEveryWay, type Choose } from './every-way.ts'
import { createJudge, readable } from './judged.ts'
import { raceOnMemory, type RaceOptions } from './memory-race.ts'
import type { Plant } from './planted.ts'
import type { Race } from './race.ts'
import type { Call } from './requests.ts'
import { setUp, type Readable } from './world.ts'

/** What came of the races of calls. */
export interface Found {
  /** How many there were, by pair. */
  readonly ways: Readonly<Record<string, number>>
  /** The pairs of which a race was wrong, with the first such race. */
  readonly wrong: ReadonlyMap<string, string>
}

/** Two calls of two servers: each with itself and with each other. The servers are alike, so `a` before `b` is enough. */
function pairsOf(calls: readonly Call[]): (readonly [Call, Call])[] {
  return calls.flatMap((one, index) => calls.slice(index).map((other) => [one, other] as const))
}

type RunRace = (pair: readonly [Call, Call], choose: Choose) => Promise<{ race: Race; rows: Readable }>

/** Lets every two calls race in every way, and judges each race. */
export async function enumerate(calls: readonly Call[], run: RunRace): Promise<Found> {
  const wrong = new Map<string, string>()
  const ways: Record<string, number> = {}
  for (const pair of pairsOf(calls)) {
    const name = pair.map((call) => call.name).join(' × ')
    const { judge } = createJudge(pair)
    // oxlint-disable-next-line no-await-in-loop -- a race has the timers of the process for itself
    ways[name] = await inEveryWay(async (choose) => {
      const { race, rows } = await run(pair, choose)
      const what = await judge(race, rows)
      if (what !== undefined && !wrong.has(name)) wrong.set(name, what)
    })
  }
  return { ways, wrong }
}

/** How many there were in all. */
export function total({ ways }: Found): number {
  return Object.values(ways).reduce((sum, each) => sum + each, 0)
}

export async function onMemory(
  calls: readonly Call[],
  { faults }: Pick<RaceOptions, 'faults'>,
): Promise<Found> {
  return enumerate(calls, async (pair, choose) => {
    const store = memoryStorage()
    await setUp(bindAdmin(store))
    return { race: await raceOnMemory(pair, choose, { store, faults }), rows: readable(store) }
  })
}

/** On the model, which has halves of steps that a wrong store can take. */
export async function onModel(calls: readonly Call[], plant: Plant): Promise<Found> {
  const start = createModel()
  await setUp(start)
  return enumerate(calls, async (pair, choose) => {
    const model = start.copy()
    const race = await raceOnMemory(pair, choose, { store: storeOf(model), faults: false, plant })
    return { race, rows: model as unknown as Readable }
  })
}

/** A store may forget a code that was ended; the model leaves open what it then finds. */
function storeOf(model: Model): AdminStorage {
  const findAuthorizationCode: Model['findAuthorizationCode'] = (hash) => {
    try {
      return model.findAuthorizationCode(hash)
    } catch {
      return null
    }
  }
  return { ...model, findAuthorizationCode } as unknown as AdminStorage
}
