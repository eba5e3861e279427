import { expect, test } from 'vitest'
import { createInFlightLimit } from '../../src/http/in-flight.ts'

const tooMany = expect.objectContaining({ code: 'unavailable', retryAfterSeconds: 1 })

test.each(['storage', 'network'] as const)(
  'of the places that wait for %s one caller gets half',
  (waitsFor) => {
    const limit = createInFlightLimit(5)
    for (let count = 0; count < 3; count += 1) limit.enter(waitsFor, 'greedy')
    expect(() => limit.enter(waitsFor, 'greedy')).toThrow(tooMany)
    limit.enter(waitsFor, 'other')
    limit.leave(waitsFor, 'greedy')
    limit.enter(waitsFor, 'greedy')
    limit.enter(waitsFor, 'other')
    expect(() => limit.enter(waitsFor, 'third'), 'all places are taken').toThrow(tooMany)
    limit.enter(waitsFor === 'storage' ? 'network' : 'storage', 'third')
  },
)
