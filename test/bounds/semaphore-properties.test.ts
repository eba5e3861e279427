import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Callers } from '../../src/bounds/callers.ts'
import { createSemaphore } from '../../src/bounds/semaphore.ts'
import { gatedTask, turn, type GatedTask } from './support/gated-task.ts'

interface Job extends GatedTask {
  readonly callers: Callers
  readonly controller: AbortController
  ended: boolean
}

const places = fc.integer({ min: 1, max: 7 })
const who = { caller: fc.constantFrom('a', 'b', 'c', 'd'), pick: fc.nat(1000) }
const asks = fc.record({ kind: fc.constant('ask' as const), ...who })
const joins = fc.record({ kind: fc.constant('join' as const), ...who })
const ends = fc.record({ kind: fc.constantFrom('finish' as const, 'fail' as const), ...who })
const leaves = fc.record({ kind: fc.constant('leave' as const), ...who })
type Step = { kind: 'ask' | 'join' | 'finish' | 'fail' | 'leave'; caller: string; pick: number }

const steps = (...kinds: fc.Arbitrary<Step>[]): fc.Arbitrary<Step[]> =>
  fc.array(fc.oneof(...kinds), { maxLength: 60, size: 'max' })

/** A semaphore and the jobs that a list of steps gives it. */
function scene(maxConcurrent: number) {
  const semaphore = createSemaphore(maxConcurrent)
  const jobs: Job[] = []
  const results: Promise<unknown>[] = []
  const live = (): Job[] => jobs.filter(({ ended }) => !ended)
  const running = (): Job[] => live().filter(({ started }) => started())
  const one = <Each>(list: readonly Each[], pick: number): Each | undefined => list[pick % list.length]

  function ask(caller: string): void {
    const job = {
      ...gatedTask(),
      callers: new Callers(caller),
      controller: new AbortController(),
      ended: false,
    }
    jobs.push(job)
    const terms = { callers: job.callers, signal: job.controller.signal, maxWaitMs: 1e9 }
    const end = (): void => void (job.ended = true)
    results.push(semaphore.run(job.task, terms).then(end, end))
  }

  function leave(job: Job, pick: number): void {
    job.callers.leave(one([...job.callers.keys()], pick) ?? '')
    if (job.callers.isEmpty) job.controller.abort()
  }

  function take({ kind, caller, pick }: Step): void {
    if (kind === 'ask') return ask(caller)
    if (kind === 'finish') return one(running(), pick)?.open()
    if (kind === 'fail') return one(running(), pick)?.fail()
    // Also of work that has ended here: it may go on elsewhere.
    const joinable = jobs.filter(({ callers }) => !callers.isEmpty)
    const job = one(joinable, pick)
    if (job === undefined) return
    if (kind === 'join') job.callers.join(caller)
    else leave(job, pick)
  }

  async function finishAll(): Promise<void> {
    while (running().length > 0) {
      for (const { open } of running()) open()
      await turn()
    }
    // Else a test would wait for a minute.
    expect(live()).toStrictEqual([])
    await Promise.all(results)
  }

  return { semaphore, live, running, take, finishAll }
}

/** Whether each job can be put to the account of one of its callers with nobody having more than `most`. */
function canBeShared(jobs: readonly Job[], most: number): boolean {
  const held = new Map<string, Job[]>()
  function place(job: Job, tried: Set<string>): boolean {
    for (const caller of job.callers.keys()) {
      if (tried.has(caller)) continue
      tried.add(caller)
      const own = held.get(caller) ?? []
      held.set(caller, own)
      const full = own.length >= most
      const moved = full ? own.findIndex((other) => place(other, tried)) : own.length
      if (moved < 0) continue
      own[moved] = job
      return true
    }
    return false
  }
  return jobs.every((job) => place(job, new Set()))
}

const halfOf = (maxConcurrent: number): number => Math.max(1, Math.floor(maxConcurrent / 2))

test('never more than all places, and never more than half for one caller, whoever joins', async () => {
  await fc.assert(
    fc.asyncProperty(places, steps(asks, asks, joins, ends), async (maxConcurrent, taken) => {
      const { semaphore, running, take, finishAll } = scene(maxConcurrent)
      for (const step of taken) {
        take(step)
        await turn()
        expect(running().length).toBeLessThanOrEqual(maxConcurrent)
        expect(canBeShared(running(), halfOf(maxConcurrent))).toBe(true)
      }
      await finishAll()
      expect(semaphore.callers).toBe(0)
    }),
  )
})

test('no place stays free while a caller who may have it waits, whoever comes and goes', async () => {
  await fc.assert(
    fc.asyncProperty(places, steps(asks, asks, joins, leaves, ends), async (maxConcurrent, taken) => {
      const { semaphore, live, running, take, finishAll } = scene(maxConcurrent)
      for (const step of taken) {
        take(step)
        await turn()
        expect(running().length).toBeLessThanOrEqual(maxConcurrent)
        if (running().length === maxConcurrent) continue
        // These are on the account of somebody who has left, until they have ended.
        const left = running().filter(({ callers }) => callers.isEmpty)
        for (const waiting of live().filter(({ started }) => !started())) {
          for (const caller of waiting.callers.keys()) {
            const own = running().filter(({ callers }) => [...callers.keys()].includes(caller))
            expect(own.length + left.length).toBeGreaterThanOrEqual(halfOf(maxConcurrent))
          }
        }
      }
      await finishAll()
      expect(semaphore.callers).toBe(0)
    }),
  )
})
