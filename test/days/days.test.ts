import { expect, test } from 'vitest'
import { liveDay } from './support/day.ts'
import { sometimes } from './support/day-scene.ts'

// A day is long for its length: two servers and some more, a few hundred requests, and every delay and fault between
// them drawn from one seed. `npm run faults -- days` lives through thousands.
const days = Number(process.env['DAYS'] ?? 25)
const repeats = Number(process.env['REPEATED_DAYS'] ?? 1)
const first = Number(process.env['FIRST_DAY'] ?? 1)

test('each day holds, and together they show what they are for', async ({ task }) => {
  const counts = new Map(sometimes.map((what) => [what, 0]))
  for (let seed = first; seed < first + days; seed += 1) {
    // oxlint-disable-next-line no-await-in-loop -- a day has the timers of the process for itself
    const day = await liveDay(seed)
    for (const [what, count] of day.counts) counts.set(what, (counts.get(what) ?? 0) + count)
  }
  Object.assign(task.meta, { figures: { days, ...Object.fromEntries(counts) } })
  expect([...counts].filter(([, count]) => count === 0)).toEqual([])
}, 7_200_000)

test('the same seed gives the same day', async ({ task }) => {
  for (let seed = first; seed < first + repeats; seed += 1) {
    // oxlint-disable-next-line no-await-in-loop -- as above
    const [once, again] = [await liveDay(seed), await liveDay(seed)]
    expect(again.trace).toEqual(once.trace)
  }
  Object.assign(task.meta, { figures: { repeated: repeats } })
}, 600_000)
