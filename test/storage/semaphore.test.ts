import { expect, test } from 'vitest'
import { createSemaphore } from '../../adapters/storage/shared/semaphore.ts'
import { call } from './support/call.ts'
import { errorOf } from './support/error-of.ts'

const soon = { timeLeftMs: () => 5 }

test('a place that is given back goes to the caller that has waited longest, and to none that gave up', async () => {
  const places = createSemaphore(1, 'PostgreSQL')
  await places.take(call)
  const gaveUp = errorOf(() => places.take(soon))
  const taken: string[] = []
  const first = places.take(call).then(() => taken.push('first'))
  const second = places.take(call).then(() => taken.push('second'))
  expect(await gaveUp).toMatchObject({ kind: 'unavailable', retryable: true })
  places.giveBack()
  await first
  expect(taken).toEqual(['first'])
  places.giveBack()
  await second
  places.giveBack()
  await places.take(soon)
  expect((await errorOf(() => places.take(soon))).message).toBe(
    'PostgreSQL: nobody waits for this call any more.',
  )
})
