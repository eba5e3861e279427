import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createSingleFlight, type Flight } from '../../src/bounds/single-flight.ts'
import { gatedTask, turn, type GatedTask } from './support/gated-task.ts'

interface Execution extends Flight, GatedTask {
  readonly key: string
  ended: boolean
}

interface Request {
  readonly key: string
  readonly caller: string
  readonly controller: AbortController
  done: boolean
}

/** Requests and executions of a single flight, as a list of steps makes and ends them. */
function scene() {
  const checks = createSingleFlight<string>()
  const executions: Execution[] = []
  const requests: Request[] = []
  const results: Promise<void>[] = []

  async function work(key: string, flight: Flight): Promise<string> {
    const execution = { ...flight, ...gatedTask(), key, ended: false }
    executions.push(execution)
    try {
      return await execution.task()
    } finally {
      execution.ended = true
    }
  }

  function join(key: string, caller: string): void {
    const request = { key, caller, controller: new AbortController(), done: false }
    const end = (): void => void (request.done = true)
    const result = checks.join(
      key,
      caller,
      { signal: request.controller.signal, timeoutMs: 60_000 },
      (flight) => work(key, flight),
    )
    requests.push(request)
    results.push(result.then(end, end))
  }

  return {
    checks,
    executions,
    join,
    live: () => executions.filter(({ ended, signal }) => !ended && !signal.aborted),
    waiting: () => requests.filter(({ done }) => !done),
    all: () => Promise.all(results),
  }
}

const steps = fc.array(
  fc.record({
    kind: fc.constantFrom('join', 'join', 'join', 'leave', 'open', 'fail'),
    key: fc.constantFrom('k', 'l'),
    caller: fc.constantFrom('a', 'b', 'c'),
    pick: fc.nat(1000),
  }),
  { maxLength: 40, size: 'max' },
)

test('whoever joins and leaves: one execution per key for its callers, and nothing is left behind', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (taken) => {
      const { checks, executions, join, live, waiting, all } = scene()
      for (const { kind, key, caller, pick } of taken) {
        const execution = live()[pick % live().length]
        if (kind === 'join') join(key, caller)
        else if (kind === 'leave') waiting()[pick % waiting().length]?.controller.abort(new Error('gone'))
        else if (kind === 'open') execution?.open()
        else execution?.fail()
        await turn()
        expect(
          live()
            .map((each) => each.key)
            .toSorted(),
        ).toStrictEqual([...new Set(waiting().map((each) => each.key))].toSorted())
        expect(checks.size).toBe(live().length)
        for (const { key: shared, callers } of live()) {
          const those = waiting().filter((each) => each.key === shared)
          expect(new Set(callers.keys())).toStrictEqual(new Set(those.map((each) => each.caller)))
        }
      }
      for (const { open } of executions) open()
      await all()
      expect(checks.size).toBe(0)
    }),
    { numRuns: 50 },
  )
})
