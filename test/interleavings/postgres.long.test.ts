import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { enumerate, total } from './support/enumerate.ts'
import { fewPortCalls, portCalls } from './support/port-calls.ts'
import { startPlace, type PostgresPlace } from './support/postgres-race.ts'

// Two calls of the port, two connections to a real server, and every order of their statements and commits.

describe.each([
  { calls: portCalls, isolation: 'read committed', faults: false, ways: 2777 },
  { calls: fewPortCalls, isolation: 'serializable', faults: false, ways: 131 },
  { calls: fewPortCalls, isolation: 'read committed', faults: true, ways: 770 },
])('$calls.length calls, $isolation, faults: $faults', ({ calls, isolation, faults, ways }) => {
  let place: PostgresPlace
  beforeAll(async () => {
    place = await startPlace(isolation)
  })
  afterAll(() => place?.stop())

  test(`every two in ${ways} ways`, async ({ task }) => {
    const found = await enumerate(calls, async (pair, choose) => {
      await place.reset()
      return { race: await place.race(pair, choose, faults), rows: place.rows }
    })
    Object.assign(task.meta, { figures: found.ways })
    expect([...found.wrong.values()].at(0)).toBeUndefined()
    // Fewer are orders that are no longer tried.
    expect(total(found)).toBe(ways)
  }, 3_600_000)
})
