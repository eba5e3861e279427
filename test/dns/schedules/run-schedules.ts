import { createUtilityApi } from 'utility-api'
import { createDnsClient } from 'utility-api/dns'
import { memoryStorage } from 'utility-api/storage/memory'
import { ChangingZone } from './changing-zone.ts'
import { changes } from './changes.ts'
import { startResolvers } from './resolvers.ts'
import { runSchedule, type Seen } from './schedule.ts'

/** What all schedules saw together. */
export interface Outcome {
  readonly schedules: number
  readonly resolvers: readonly string[]
  readonly seen: readonly Seen[]
  /** Each thing that was wrong, in words. */
  readonly wrong: readonly string[]
}

/** Runs schedules, so many at once. The seed decides when caches are filled. */
export async function runSchedules(count: number, atOnce: number, seed: number): Promise<Outcome> {
  const zone = new ChangingZone()
  await using resolvers = await startResolvers(zone)
  const { locations } = resolvers
  const client = createDnsClient()
  const api = createUtilityApi({
    storage: memoryStorage(),
    dns: { locations, cacheTtlMs: 0, maxConcurrentPerResolver: 1000 },
  })
  const random = randomFrom(seed)
  const left = changes(count)
  const seen: Seen[] = []
  const work = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift())
      seen.push(await runSchedule({ zone, api, client, locations }, next, random))
  }
  try {
    await Promise.all(Array.from({ length: atOnce }, work))
  } finally {
    await api.close()
    await client.close()
  }
  return {
    schedules: count,
    resolvers: locations.map(({ provider }) => provider),
    seen,
    wrong: seen.flatMap(({ wrong }) => wrong),
  }
}

/** The generator mulberry32. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
