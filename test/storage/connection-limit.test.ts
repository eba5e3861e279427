import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { callWithin } from 'utility-api/storage'
import { createConnectionLimit } from '../../adapters/storage/shared/connection-limit.ts'
import { call } from './support/call.ts'
import { errorOf } from './support/error-of.ts'

test('a place that is given back goes to the caller that has waited longest, and to none that gave up', async () => {
  const limit = createConnectionLimit(1, 'PostgreSQL')
  const begun: string[] = []
  function hold(name: string): { readonly done: Promise<void>; end(): void } {
    const { promise, resolve } = Promise.withResolvers<void>()
    const work = (): Promise<void> => {
      begun.push(name)
      return promise
    }
    return { done: limit.run(call, work), end: resolve }
  }
  const holder = hold('holder')
  const gaveUp = errorOf(() => limit.run(callWithin(5), async () => begun.push('gave up')))
  const first = hold('first')
  const second = hold('second')
  expect(await gaveUp).toMatchObject({ kind: 'unavailable', retryable: true })
  expect(begun).toEqual(['holder'])
  holder.end()
  await holder.done
  await setImmediate()
  expect(begun).toEqual(['holder', 'first'])
  first.end()
  await first.done
  await setImmediate()
  expect(begun).toEqual(['holder', 'first', 'second'])
  expect((await errorOf(() => limit.run(callWithin(5), async () => {}))).message).toBe(
    'PostgreSQL: nobody waits for this call any more.',
  )
  second.end()
  await second.done
})

test('a place is given back when the work fails', async () => {
  const limit = createConnectionLimit(1, 'MariaDB')
  const failed = limit.run(call, () => Promise.reject(new Error('Refused.')))
  await expect(failed).rejects.toThrow('Refused.')
  expect(await limit.run(call, async () => 'done')).toBe('done')
})

test('a call that others join while it waits has the time of the last of them', async () => {
  const limit = createConnectionLimit(1, 'MariaDB')
  const holder = Promise.withResolvers<void>()
  const held = limit.run(call, () => holder.promise)
  let left = 5
  const joined = limit.run({ timeLeftMs: () => left }, async () => 'done')
  left = Infinity
  await new Promise((resolve) => setTimeout(resolve, 20))
  holder.resolve()
  expect(await joined).toBe('done')
  await held
})
