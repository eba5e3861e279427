import { expect, onTestFinished, test, vi } from 'vitest'
import { createInFlightLimit, type KnownCaller } from '../../src/bounds/in-flight.ts'

const tooMany = expect.objectContaining({ code: 'unavailable', retryAfterSeconds: 1 })

const caller = (id: string): KnownCaller => ({ scheme: 'api_key', id })

test.each(['storage', 'network'] as const)(
  'of the places that wait for %s one caller gets half at most',
  (waitsFor) => {
    const limit = createInFlightLimit(5)
    for (let count = 0; count < 2; count += 1) limit.enter(waitsFor, caller('greedy'))
    expect(() => limit.enter(waitsFor, caller('greedy'))).toThrow(tooMany)
    limit.enter(waitsFor, caller('other'))
    limit.enter(waitsFor, caller('another'))
    limit.leave(waitsFor, caller('greedy'))
    limit.enter(waitsFor, caller('greedy'))
    limit.enter(waitsFor, caller('other'))
    expect(() => limit.enter(waitsFor, caller('third')), 'all places are taken').toThrow(tooMany)
    limit.enter(waitsFor === 'storage' ? 'network' : 'storage', caller('third'))
  },
)

test('who has given all places back may take as many as before', () => {
  const limit = createInFlightLimit(4)
  for (let round = 0; round < 3; round += 1) {
    for (let count = 0; count < 2; count += 1) limit.enter('storage', caller('one'))
    for (let count = 0; count < 2; count += 1) limit.leave('storage', caller('one'))
  }
})

test('a single place is open to any caller', () => {
  const limit = createInFlightLimit(1)
  limit.enter('storage', caller('somebody'))
  expect(() => limit.enter('storage', caller('other'))).toThrow(tooMany)
})

test('callers of two schemes are two callers, even with one id', () => {
  const limit = createInFlightLimit(3)
  limit.enter('storage', { scheme: 'api_key', id: 'acme' })
  expect(() => limit.enter('storage', { scheme: 'api_key', id: 'acme' })).toThrow(tooMany)
  limit.enter('storage', { scheme: 'reseller_token', id: 'acme' })
})

test('strangers at one address cannot have all places for looking up credentials', () => {
  const limit = createInFlightLimit(8)
  const sender = (ip?: string) => ({ ip })
  const held = Array.from({ length: 6 }, () => limit.enterUnknown(sender('192.0.2.1')))
  expect(() => limit.enterUnknown(sender('192.0.2.1'))).toThrow(tooMany)
  limit.enterUnknown(sender('198.51.100.1'))
  limit.enterUnknown(sender())
  expect(() => limit.enterUnknown(sender('203.0.113.1')), 'all places are taken').toThrow(tooMany)
  limit.enter('storage', caller('known'))
  for (const each of held) limit.leave('credentials', each)
  for (let count = 0; count < 4; count += 1) limit.enterUnknown(sender('192.0.2.1'))
})

test('the address of a sender is asked for only once half of the places are taken', () => {
  const limit = createInFlightLimit(4)
  let asked = 0
  const sender = {
    get ip() {
      asked += 1
      return '192.0.2.1'
    },
  }
  limit.enterUnknown(sender)
  limit.enterUnknown(sender)
  expect(asked).toBe(0)
  limit.enterUnknown(sender)
  expect(asked).toBe(1)
})

test('addresses of one IPv6 network are one sender', () => {
  const limit = createInFlightLimit(8)
  for (let host = 1; host <= 6; host += 1) limit.enterUnknown({ ip: `2001:db8::${host}` })
  expect(() => limit.enterUnknown({ ip: '2001:db8::99' })).toThrow(tooMany)
  limit.enterUnknown({ ip: '2001:db8:0:1::1' })
})

test('closing waits for the last request under way, not for the first that ends', async () => {
  const limit = createInFlightLimit(5)
  limit.begin()
  limit.begin()
  const closed = vi.fn()
  const closing = limit.close(60_000).then(closed)
  limit.end()
  await new Promise((resolve) => setImmediate(resolve))
  expect(closed).not.toHaveBeenCalled()
  limit.end()
  await closing
})

test.each([0, 1])('closing with %i requests under way leaves no timer behind', async (underWay) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const limit = createInFlightLimit(5)
  for (let count = 0; count < underWay; count += 1) limit.begin()
  const closing = limit.close(60_000)
  for (let count = 0; count < underWay; count += 1) limit.end()
  await closing
  expect(vi.getTimerCount()).toBe(0)
})
