import { fixedClock } from 'utility-api/testing'
import { expect, test } from 'vitest'
import { createSharedWork } from '../../src/operations/shared-work.ts'

/** Work that ends when it is told to, and remembers how often and with which signals it was started. */
function controlledWork() {
  const signals: AbortSignal[] = []
  const ends: ((value: string) => void)[] = []
  const fails: ((error: Error) => void)[] = []
  return {
    signals,
    end: (value: string) => ends.at(-1)?.(value),
    fail: (error: Error) => fails.at(-1)?.(error),
    work: (signal: AbortSignal): Promise<string> => {
      signals.push(signal)
      return new Promise((resolve, reject) => {
        ends.push(resolve)
        fails.push(reject)
        signal.addEventListener('abort', () => reject(signal.reason))
      })
    },
  }
}

const forever = new AbortController().signal
const clock = fixedClock()
const shared = (lifetime = 0) => createSharedWork<string>({ clock, lifetimeMs: () => lifetime })

test('equal requests share one execution, others have their own', async () => {
  const { work, signals, end } = controlledWork()
  const checks = shared()
  const both = [checks.get('a', forever, work), checks.get('a', forever, work)]
  expect(signals).toHaveLength(1)
  end('first')
  expect(await Promise.all(both)).toStrictEqual(['first', 'first'])
  const other = checks.get('b', forever, work)
  end('second')
  expect(await other).toBe('second')
  expect(signals).toHaveLength(2)
})

test('a failure is shared, and is not kept', async () => {
  const { work, signals, end, fail } = controlledWork()
  const checks = shared(1000)
  const both = [checks.get('a', forever, work), checks.get('a', forever, work)]
  fail(new Error('broken'))
  for (const each of both) await expect(each).rejects.toThrow('broken')
  const next = checks.get('a', forever, work)
  end('well')
  expect(await next).toBe('well')
  expect(signals).toHaveLength(2)
})

test('who leaves gets their own reason; the others still get the result', async () => {
  const { work, signals, end } = controlledWork()
  const checks = shared()
  const leaving = new AbortController()
  const left = checks.get('a', leaving.signal, work)
  const stayed = checks.get('a', forever, work)
  leaving.abort(new Error('gone'))
  await expect(left).rejects.toThrow('gone')
  expect(signals[0]?.aborted).toBe(false)
  end('result')
  expect(await stayed).toBe('result')
})

test('work is aborted when the last one has left, and is not joined any more', async () => {
  const { work, signals, end } = controlledWork()
  const checks = shared()
  const leaving = new AbortController()
  const left = [checks.get('a', leaving.signal, work), checks.get('a', leaving.signal, work)]
  leaving.abort(new Error('gone'))
  for (const each of left) await expect(each).rejects.toThrow('gone')
  expect(signals[0]?.aborted).toBe(true)
  const next = checks.get('a', forever, work)
  expect(signals).toHaveLength(2)
  end('fresh')
  expect(await next).toBe('fresh')
})

test('a caller who has left already starts nothing', async () => {
  const { work, signals } = controlledWork()
  await expect(shared().get('a', AbortSignal.abort(new Error('gone')), work)).rejects.toThrow('gone')
  expect(signals).toHaveLength(0)
})

test('a result is given out again within its lifetime, and not a millisecond longer', async () => {
  let runs = 0
  const work = async (): Promise<string> => `run ${(runs += 1)}`
  const checks = shared(1000)
  expect(await checks.get('a', forever, work)).toBe('run 1')
  clock.advance(999)
  expect(await checks.get('a', forever, work)).toBe('run 1')
  clock.advance(1)
  expect(await checks.get('a', forever, work)).toBe('run 2')
})

test('what is kept is bounded: the oldest is forgotten first', async () => {
  let runs = 0
  const work = async (): Promise<string> => `run ${(runs += 1)}`
  const checks = shared(1000)
  for (let key = 0; key <= 1000; key += 1) await checks.get(String(key), forever, work)
  await checks.get('1', forever, work)
  expect(runs).toBe(1001)
  await checks.get('0', forever, work)
  expect(runs).toBe(1002)
})
