import { StorageError, type StorageCall } from 'utility-api/storage'
import { nextTick } from 'node:process'
import { expect, test } from 'vitest'
import { findTogether, type Find } from '../../adapters/storage/shared/find-together.ts'
import { call } from './support/call.ts'
import { errorOf } from './support/error-of.ts'

interface Row {
  readonly key: string
}

/** One statement: when it is sent and how it ends is the test's to say. */
interface Statement {
  readonly call: StorageCall
  /** Sends it; the keys that it asks for. */
  send(): readonly string[]
  /** Answers with the row of each key that begins with `a`. */
  answer(): void
  fail(error: StorageError): void
}

const endOfTick = (): Promise<void> => new Promise(nextTick)

function start(): { find: Find<Row>; statements: Statement[] } {
  const statements: Statement[] = []
  const find = findTogether<Row>(
    (of, takeKeys) => {
      const { promise, resolve, reject } = Promise.withResolvers<readonly Row[]>()
      const answer = (): void => {
        const rows = takeKeys().flatMap((key) => (key.startsWith('a') ? [{ key }] : []))
        // The database promises no order.
        resolve(rows.toReversed())
      }
      statements.push({ call: of, send: takeKeys, answer, fail: reject })
      return promise
    },
    ({ key }) => key,
  )
  return { find, statements }
}

test('finds that wait for a connection share one statement, and each gets its own row', async () => {
  const { find, statements } = start()
  const found = ['a1', 'b', 'a2', 'a1'].map((key) => find(call, key))
  await endOfTick()
  expect(statements).toHaveLength(1)
  expect(statements[0]?.send()).toEqual(['a1', 'b', 'a2'])
  statements[0]?.answer()
  expect(await Promise.all(found)).toEqual([{ key: 'a1' }, null, { key: 'a2' }, { key: 'a1' }])
})

test('a find that begins after a statement was sent is not answered by it: its rows may be older', async () => {
  const { find, statements } = start()
  const early = find(call, 'a')
  await endOfTick()
  statements[0]?.send()
  const late = find(call, 'a')
  await endOfTick()
  expect(statements).toHaveLength(2)
  statements[0]?.answer()
  await early
  expect(await Promise.race([late, 'waits'])).toBe('waits')
  statements[1]?.answer()
  expect(await late).toEqual({ key: 'a' })
})

test('a statement is sent if any of its callers still waits', async () => {
  const { find, statements } = start()
  const left = [5, 20]
  for (const index of left.keys()) void find({ timeLeftMs: () => left[index]! }, 'a')
  await endOfTick()
  const { call: ofAll } = statements[0]!
  expect(ofAll.timeLeftMs()).toBe(20)
  left[1] = -1
  expect(ofAll.timeLeftMs()).toBe(5)
  left[0] = -3
  expect(ofAll.timeLeftMs()).toBe(-1)
})

test('a find does not join a statement that has been refused because nobody waits for it', async () => {
  const { find, statements } = start()
  const late = errorOf(() => find({ timeLeftMs: () => 0 }, 'a'))
  await endOfTick()
  expect(statements[0]?.call.timeLeftMs()).toBe(0)
  const found = find(call, 'a')
  statements[0]?.fail(new StorageError('unavailable', 'nobody waits'))
  expect((await late).kind).toBe('unavailable')
  await endOfTick()
  expect(statements).toHaveLength(2)
  statements[1]?.answer()
  expect(await found).toEqual({ key: 'a' })
})

test.each(['before it is sent', 'after'])(
  'a statement that fails %s fails all that wait for it, and no others',
  async (when) => {
    const { find, statements } = start()
    const failed = ['a', 'b'].map((key) => errorOf(() => find(call, key)))
    await endOfTick()
    if (when === 'after') statements[0]?.send()
    const other = when === 'after' ? find(call, 'a') : undefined
    const error = new StorageError('unavailable', 'no connection')
    statements[0]?.fail(error)
    expect(await Promise.all(failed)).toEqual([error, error])
    const found = other ?? find(call, 'a')
    await endOfTick()
    expect(statements).toHaveLength(2)
    statements[1]?.answer()
    expect(await found).toEqual({ key: 'a' })
  },
)

test('a statement asks for at most a hundred rows, however many callers wait', async () => {
  const { find, statements } = start()
  const found = Array.from({ length: 250 }, (_, index) => find(call, `a${index}`))
  await endOfTick()
  expect(statements.map(({ send }) => send().length)).toEqual([100, 100, 50])
  for (const { answer } of statements) answer()
  expect(await Promise.all(found)).toEqual(found.map((_, index) => ({ key: `a${index}` })))
})
