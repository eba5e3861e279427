import { StorageError, type StorageCall } from 'utility-api/storage'
import { expect, onTestFinished, test, vi } from 'vitest'
import { isUndone } from '../../adapters/storage/postgres/errors.ts'
import { writeTogether, type MakeWrite } from '../../adapters/storage/shared/write-together.ts'
import { call, callOfLooks } from './support/call.ts'
import { errorOf } from './support/error-of.ts'

interface Write {
  readonly key: string
  readonly value: number
  /** Another key, as an idempotency key is. */
  readonly other?: string
}

/** One statement: when it is sent and how it ends is the test's to say. */
interface Statement {
  readonly call: StorageCall
  /** Sends it; the keys and values of what it writes. */
  send(): [keys: string[], values: number[]]
  /** Answers that the writes with these keys were made. */
  answer(...keys: string[]): void
  fail(error: Error): void
}

interface Alone extends PromiseWithResolvers<string> {
  readonly key: string
}

function start(): { make: MakeWrite<Write, string>; statements: Statement[]; alone: Alone[] } {
  const statements: Statement[] = []
  const alone: Alone[] = []
  const make = writeTogether<Write, string>(
    { name: 'PostgreSQL', isUndone },
    {
      keysOf: ({ key, other }) => (other === undefined ? [key] : [key, other]),
      together: (of, takeWrites) => {
        const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>()
        statements.push({
          call: of,
          send: () => {
            const writes = takeWrites()
            return [writes.map(({ key }) => key), writes.map(({ value }) => value)]
          },
          answer: (...keys) => resolve(keys),
          fail: reject,
        })
        return promise
      },
      made: 'made',
      alone: ({ key }) => {
        const one = { key, ...Promise.withResolvers<string>() }
        alone.push(one)
        return one.promise
      },
    },
  )
  return { make, statements, alone }
}

/** Writes with these keys, made in one turn. */
function together(make: MakeWrite<Write, string>, ...keys: string[]): Promise<string>[] {
  return keys.map((key, value) => make(call, { key, value }))
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const errorWith = (code: string): Error => Object.assign(new Error('trouble'), { code })

test('a write that finds nothing under way goes alone, at once', async () => {
  const { make, statements, alone } = start()
  const [made] = together(make, 'a')
  await turn()
  expect([statements, alone.map(({ key }) => key)]).toEqual([[], ['a']])
  alone[0]?.resolve('done')
  expect(await made).toBe('done')
})

test('writes of one turn share a statement, and so do those that arrive before its answer', async () => {
  // However slow the machine is, it is not too long for them.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const { make, statements, alone } = start()
  const first = together(make, 'a', 'b')
  await turn()
  expect(statements[0]?.send()).toEqual([
    ['a', 'b'],
    [0, 1],
  ])
  const second = together(make, 'c')
  await turn()
  second.push(...together(make, 'd'))
  await turn()
  expect([statements.length, alone.length]).toEqual([1, 0])
  statements[0]?.answer('b', 'a')
  expect(await Promise.all(first)).toEqual(['made', 'made'])
  await turn()
  expect(statements[1]?.send()[0]).toEqual(['c', 'd'])
  statements[1]?.answer('c', 'd')
  expect(await Promise.all(second)).toEqual(['made', 'made'])
  expect(alone).toEqual([])
})

test('a write that the statement leaves out goes alone, and holds up neither its neighbors nor later ones', async () => {
  const { make, statements, alone } = start()
  const [a, b] = together(make, 'a', 'b')
  await turn()
  statements[0]?.send()
  statements[0]?.answer('b')
  expect(await b).toBe('made')
  expect(alone.map(({ key }) => key)).toEqual(['a'])
  const later = together(make, 'c', 'd')
  await turn()
  statements[1]?.send()
  statements[1]?.answer('c', 'd')
  expect(await Promise.all(later)).toEqual(['made', 'made'])
  alone[0]?.resolve('refused')
  expect(await a).toBe('refused')
})

test('writes with the same key are made one after the other, in order', async () => {
  const { make, statements, alone } = start()
  const writes = [1, 2, 3].map((value) => make(call, { key: 'a', value }))
  const other = make(call, { key: 'b', value: 0 })
  await turn()
  expect(statements[0]?.send()).toEqual([
    ['a', 'b'],
    [1, 0],
  ])
  statements[0]?.answer('b')
  expect(await other).toBe('made')
  await turn()
  // The first is still under way, alone.
  expect([statements.length, alone.length]).toEqual([1, 1])
  alone[0]?.reject(new Error('trouble'))
  await expect(writes[0]).rejects.toThrow('trouble')
  await turn()
  expect(alone).toHaveLength(2)
  alone[1]?.resolve('second')
  expect(await writes[1]).toBe('second')
  await turn()
  alone[2]?.resolve('third')
  expect(await writes[2]).toBe('third')
})

test('writes that have only their second key in common are made one after the other too', async () => {
  const { make, statements, alone } = start()
  const [first, second, third] = ['a', 'b', 'c'].map((key, value) =>
    make(call, { key, value, ...(key === 'c' ? {} : { other: 'x' }) }),
  )
  await turn()
  expect(statements[0]?.send()[0]).toEqual(['a', 'c'])
  statements[0]?.answer('a', 'c')
  expect(await Promise.all([first, third])).toEqual(['made', 'made'])
  await turn()
  alone[0]?.resolve('done')
  expect(await second).toBe('done')
})

test('a statement makes at most 256 writes', async () => {
  const { make, statements } = start()
  const writes = together(make, ...Array.from({ length: 300 }, (_, index) => `${index}`))
  await turn()
  const sent = statements[0]?.send()[0] ?? []
  expect(sent).toHaveLength(256)
  statements[0]?.answer(...sent)
  await writes[0]
  await turn()
  expect(statements[1]?.send()[0]).toHaveLength(44)
})

test('a statement that gets no answer does not hold up later writes for long', async () => {
  const { make, statements, alone } = start()
  together(make, 'a', 'b')
  await turn()
  statements[0]?.send()
  const later = make(call, { key: 'c', value: 0 })
  while (alone.length === 0) await turn()
  alone[0]?.resolve('done')
  expect(await later).toBe('done')
})

test.each([
  '22021',
  '23505',
  '23514',
  '40001',
  '40P01',
  '42501',
  '54000',
  '55P03',
  '57014',
  'P0001',
  'U0001',
])('when the server undoes a statement (%s), its writes go alone', async (code) => {
  const { make, statements, alone } = start()
  const [a, b] = together(make, 'a', 'b')
  await turn()
  statements[0]?.send()
  statements[0]?.fail(errorWith(code))
  await turn()
  expect(alone.map(({ key }) => key)).toEqual(['a', 'b'])
  alone[0]?.resolve('done')
  alone[1]?.reject(new Error('its own'))
  expect(await a).toBe('done')
  await expect(b).rejects.toThrow('its own')
})

const codes = ['08006', '25006', '53100', '57P01', '58030', 'XX000', 'ECONNRESET']
const unconfirmed = new StorageError('unavailable', 'no standby')
test.each([...codes.map((code) => [code, errorWith(code)] as const), ['no standby', unconfirmed] as const])(
  'after a failure (%s), nobody knows of any of the writes, and none is repeated',
  async (_, error) => {
    const { make, statements, alone } = start()
    const errors = together(make, 'a', 'b').map((write) => write.catch((thrown: unknown) => thrown))
    await turn()
    statements[0]?.send()
    statements[0]?.fail(error)
    expect(await Promise.all(errors)).toEqual([error, error])
    expect(alone).toEqual([])
    const later = make(call, { key: 'a', value: 1 })
    await turn()
    alone[0]?.resolve('done')
    expect(await later).toBe('done')
  },
)

test('a write whose time is over when the statement is built is left out', async () => {
  const { make, statements } = start()
  // Is looked at when the statement is prepared, when it is sent, and when it is built.
  const late = errorOf(() => make(callOfLooks(2), { key: 'late', value: 0 }))
  const others = together(make, 'a', 'b')
  await turn()
  expect(statements[0]?.call.timeLeftMs()).toBe(Infinity)
  expect(statements[0]?.send()[0]).toEqual(['a', 'b'])
  expect(await late).toMatchObject({ kind: 'unavailable', retryable: true })
  statements[0]?.answer('a', 'b')
  expect(await Promise.all(others)).toEqual(['made', 'made'])
})

test('a statement has time as long as any of its callers waits', async () => {
  const { make, statements } = start()
  const left = [5, 20]
  for (const index of left.keys())
    void make({ timeLeftMs: () => left[index] ?? 0 }, { key: `${index}`, value: 0 })
  await turn()
  expect(statements[0]?.call.timeLeftMs()).toBe(20)
  left[1] = -1
  expect(statements[0]?.call.timeLeftMs()).toBe(5)
})

test('a write that waits for another of the same key leaves the queue when its time is over', async () => {
  const { make, alone } = start()
  const first = make(call, { key: 'a', value: 1 })
  await turn()
  let left = 5
  const second = errorOf(() => make({ timeLeftMs: () => left }, { key: 'a', value: 2 }))
  left = 0
  alone[0]?.resolve('done')
  expect(await first).toBe('done')
  expect((await second).kind).toBe('unavailable')
  expect(alone).toHaveLength(1)
})
