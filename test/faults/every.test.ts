import { writeFileSync } from 'node:fs'
import { afterAll, describe, expect, test } from 'vitest'
import { whyNoMysql } from '../storage/support/mysql-server.ts'
import { mysqlPlaces } from './every/mysql.ts'
import type { Place } from './every/place.ts'
import { postgresPlaces } from './every/postgres.ts'
import { sqlitePlaces } from './every/sqlite.ts'
import { casesOf } from './every/try.ts'
import { killAtSteps } from './every/killed.ts'

// A fault at every step of every case of the storage suite: `npm run faults -- every`.
// EVERY_PART tries one case in so many, each store and fault others, EVERY_MOST so many steps of a case at most, spread over
// all of them, EVERY_STORE only the stores whose names begin so; EVERY_TABLE=file writes a line for each case there.

const part = Number(process.env['EVERY_PART'] ?? 30)
const most = Number(process.env['EVERY_MOST'] ?? 3)
const only = process.env['EVERY_STORE'] ?? ''
const rows: string[] = []

const stops: (() => Promise<void>)[] = []
async function started(
  start: () => Promise<{ places: readonly Place[]; stop(): Promise<void> }>,
): Promise<readonly Place[]> {
  const { places, stop } = await start()
  stops.push(stop)
  return places
}

const places = [
  ...('SQLite'.startsWith(only.slice(0, 6))
    ? sqlitePlaces.filter(({ store }) => store.startsWith(only))
    : []),
  ...('PostgreSQL'.startsWith(only) ? await started(postgresPlaces) : []),
  ...('MariaDB'.startsWith(only) && whyNoMysql() === null ? await started(mysqlPlaces) : []),
]

afterAll(async () => {
  await Promise.all(stops.map((stop) => stop()))
  if (process.env['EVERY_TABLE'] !== undefined) writeFileSync(process.env['EVERY_TABLE'], rows.join('\n'))
}, 60_000)

/** All of so many steps, or some that are spread over them. */
function stepsOf(count: number): number[] {
  const tried = Math.min(count, most)
  return Array.from({ length: tried }, (_, index) => 1 + Math.floor((index * count) / tried))
}

describe.each(places.map((place, first) => [place.store, place.fault, place, first % part] as const))(
  '%s: %s',
  (store, fault, place, first) => {
    test('at every step of every case: what was acknowledged is there, nothing is there twice, and the next call works', async ({
      task,
    }) => {
      const counts = { cases: 0, steps: 0, tried: 0, unnoticed: 0, right: 0, undecided: 0 }
      const sentences = new Set<string>()
      const wrong: string[] = []
      for (const [index, each] of casesOf(place).entries()) {
        if (index % part !== first) continue
        const whole = await each.tryAt(0)
        if (!whole.applies) continue
        const tries = stepsOf(whole.steps)
        const before = wrong.length
        wrong.push(...whole.wrong.map((what) => `${each.name}: ${what}`))
        for (const step of tries) {
          const trial = await each.tryAt(step)
          if (trial.passed) counts.unnoticed += 1
          counts.right += trial.right
          counts.undecided += trial.undecided
          for (const sentence of trial.sentences) sentences.add(sentence)
          wrong.push(...trial.wrong.map((what) => `${each.name}, step ${step}: ${what}`))
        }
        counts.cases += 1
        counts.steps += whole.steps
        counts.tried += tries.length
        rows.push([store, fault, each.name, whole.steps, tries.length, wrong.length - before].join('\t'))
      }
      Object.assign(task.meta, { figures: { ...counts, sentences: [...sentences] } })
      expect(wrong.slice(0, 5)).toEqual([])
      expect(wrong).toHaveLength(0)
      expect(counts.tried).toBeGreaterThan(0)
    }, 7_200_000)
  },
)

describe.runIf('SQLite'.startsWith(only.slice(0, 6)))('SQLite: process killed', () => {
  test('after every step of every case: what was acknowledged is there, nothing is there twice, and the next process goes on', async ({
    task,
  }) => {
    const counts = { cases: 0, steps: 0, tried: 0, right: 0, undecided: 0 }
    const wrong: string[] = []
    for (const [index, { name }] of casesOf(sqlitePlaces[0] as Place).entries()) {
      if (index % part !== 0) continue
      const killings = await killAtSteps(name, stepsOf)
      if (!killings.applies) continue
      wrong.push(...killings.wrong.map((what) => `${name}, ${what}`))
      counts.cases += 1
      for (const count of ['steps', 'tried', 'right', 'undecided'] as const) counts[count] += killings[count]
      rows.push(['SQLite', 'killed', name, killings.steps, killings.tried, killings.wrong.length].join('\t'))
    }
    Object.assign(task.meta, { figures: counts })
    expect(wrong.slice(0, 5)).toEqual([])
    expect(counts.right).toBeGreaterThan(0)
  }, 7_200_000)
})
