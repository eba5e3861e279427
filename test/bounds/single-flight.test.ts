import { expect, onTestFinished, test, vi } from 'vitest'
import { createSingleFlight, type Flight } from '../../src/bounds/single-flight.ts'

/** Work that ends when it is told to, and remembers how often and with which signals it was started. */
function controlledWork() {
  const signals: AbortSignal[] = []
  const ends: ((value: string) => void)[] = []
  const fails: ((error: Error) => void)[] = []
  return {
    signals,
    end: (value: string) => ends.at(-1)?.(value),
    fail: (error: Error) => fails.at(-1)?.(error),
    work: ({ signal }: Flight): Promise<string> => {
      signals.push(signal)
      return new Promise((resolve, reject) => {
        ends.push(resolve)
        fails.push(reject)
        signal.addEventListener('abort', () => reject(signal.reason))
      })
    },
  }
}

const until = (signal: AbortSignal, timeoutMs = 60_000) => ({ signal, timeoutMs })
const forever = until(new AbortController().signal)
const shared = () => createSingleFlight<string>()

test('equal requests share one execution, even at one moment, others have their own', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const { work, signals, end } = controlledWork()
  const checks = shared()
  const both = [checks.join('a', 'me', forever, work), checks.join('a', 'me', forever, work)]
  expect(signals).toHaveLength(1)
  end('first')
  expect(await Promise.all(both)).toStrictEqual(['first', 'first'])
  const other = checks.join('b', 'me', forever, work)
  end('second')
  expect(await other).toBe('second')
  expect(signals).toHaveLength(2)
})

test('a failure is shared, and is not kept', async () => {
  const { work, signals, end, fail } = controlledWork()
  const checks = shared()
  const both = [checks.join('a', 'me', forever, work), checks.join('a', 'me', forever, work)]
  fail(new Error('broken'))
  for (const each of both) await expect(each).rejects.toThrow('broken')
  const next = checks.join('a', 'me', forever, work)
  end('well')
  expect(await next).toBe('well')
  expect(signals).toHaveLength(2)
})

test('a caller who leaves gets their own reason; the others still get the result', async () => {
  const { work, signals, end } = controlledWork()
  const checks = shared()
  const leaving = new AbortController()
  const left = checks.join('a', 'me', until(leaving.signal), work)
  const stayed = checks.join('a', 'me', forever, work)
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
  const left = [
    checks.join('a', 'me', until(leaving.signal), work),
    checks.join('a', 'me', until(leaving.signal), work),
  ]
  leaving.abort(new Error('gone'))
  for (const each of left) await expect(each).rejects.toThrow('gone')
  expect(signals[0]?.aborted).toBe(true)
  const next = checks.join('a', 'me', forever, work)
  expect(signals).toHaveLength(2)
  end('fresh')
  expect(await next).toBe('fresh')
})

test('a caller who leaves when told of a part has left', async () => {
  const checks = createSingleFlight<string, string>()
  const result = Promise.withResolvers<string>()
  const stayed = checks.join('a', 'me', forever, ({ progress }) => {
    progress.add('part')
    return result.promise
  })
  const leaving = new AbortController()
  const leave = (): void => leaving.abort(new Error('enough'))
  const left = checks.join('a', 'me', until(leaving.signal), () => result.promise, leave)
  result.resolve('result')
  await expect(left).rejects.toThrow('enough')
  expect(await stayed).toBe('result')
})

test('a caller who has left already starts nothing', async () => {
  const { work, signals } = controlledWork()
  await expect(shared().join('a', 'me', until(AbortSignal.abort(new Error('gone'))), work)).rejects.toThrow(
    'gone',
  )
  expect(signals).toHaveLength(0)
})

test.each([
  ['ends later than one can wait', 40_000],
  ['has less than half of the time left', 121_000],
])(
  'work that %s is not joined: the caller gets another, and the first ends by itself',
  async (_, timeoutMs) => {
    const { work, signals } = controlledWork()
    const checks = shared()
    const leaving = [new AbortController(), new AbortController()]
    const results = leaving.map(({ signal }, index) =>
      checks.join('a', 'me', until(signal, index === 0 ? 60_000 : timeoutMs), work),
    )
    expect(signals).toHaveLength(2)
    leaving[0]?.abort(new Error('gone'))
    await expect(results[0]).rejects.toThrow('gone')
    expect(signals.map(({ aborted }) => aborted)).toStrictEqual([true, false])
    expect(checks.size).toBe(1)
    leaving[1]?.abort(new Error('gone, too'))
    await expect(results[1]).rejects.toThrow('gone, too')
    expect(checks.size).toBe(0)
  },
)

test('the work knows its callers, each once', async () => {
  const flights: Flight[] = []
  const checks = shared()
  const leaving = new AbortController()
  const work = (flight: Flight): Promise<string> => {
    flights.push(flight)
    return new Promise(() => {})
  }
  const callers = (): string[] => [...(flights[0]?.callers.keys() ?? [])]
  const left = [
    checks.join('a', 'x', until(leaving.signal), work),
    checks.join('a', 'y', until(leaving.signal), work),
  ]
  void checks.join('a', 'x', forever, work)
  expect(callers()).toStrictEqual(['x', 'y'])
  leaving.abort(new Error('gone'))
  for (const each of left) await expect(each).rejects.toThrow('gone')
  expect(callers()).toStrictEqual(['x'])
})
