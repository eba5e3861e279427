import { expect, test } from 'vitest'
import { createInFlightLimit } from '../../src/http/in-flight.ts'

const tooMany = expect.objectContaining({ code: 'unavailable', retryAfterSeconds: 1 })

test.each(['storage', 'network'] as const)(
  'of the places that wait for %s one caller gets half at most',
  (waitsFor) => {
    const limit = createInFlightLimit(5)
    for (let count = 0; count < 2; count += 1) limit.enter(waitsFor, 'greedy')
    expect(() => limit.enter(waitsFor, 'greedy')).toThrow(tooMany)
    limit.enter(waitsFor, 'other')
    limit.enter(waitsFor, 'another')
    limit.leave(waitsFor, 'greedy')
    limit.enter(waitsFor, 'greedy')
    limit.enter(waitsFor, 'other')
    expect(() => limit.enter(waitsFor, 'third'), 'all places are taken').toThrow(tooMany)
    limit.enter(waitsFor === 'storage' ? 'network' : 'storage', 'third')
  },
)

test('a single place is open to any caller', () => {
  const limit = createInFlightLimit(1)
  limit.enter('storage', 'somebody')
  expect(() => limit.enter('storage', 'other')).toThrow(tooMany)
})
