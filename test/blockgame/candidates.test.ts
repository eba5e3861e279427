import { expect, test, vi } from 'vitest'
import { Candidates, type Destination } from '../../src/blockgame/candidates.ts'

const destinations = (...ips: readonly string[]): Destination[] =>
  ips.map((ip) => ({ ip, port: 25565, srvRecord: null }))

function all(candidates: Candidates): (string | undefined)[] {
  const taken = candidates.take()
  return taken === undefined ? [] : [taken.ip, ...all(candidates)]
}

test('both families have their turn, IPv4 first', () => {
  const given = destinations('2001:db8::1', '2001:db8::2', '2001:db8::3', '192.0.2.1', '192.0.2.2')
  expect(all(Candidates.of(given))).toEqual([
    '192.0.2.1',
    '2001:db8::1',
    '192.0.2.2',
    '2001:db8::2',
    '2001:db8::3',
  ])
})

test('one that comes late has the turn of its family', () => {
  const candidates = new Candidates()
  candidates.add(0, destinations('2001:db8::1', '2001:db8::2'))
  expect(candidates.take()?.ip).toBe('2001:db8::1')
  candidates.add(0, destinations('192.0.2.1', '192.0.2.2'))
  expect(all(candidates)).toEqual(['192.0.2.1', '2001:db8::2', '192.0.2.2'])
})

test('all of a better target come before those of a worse one, even if they come later', () => {
  const candidates = new Candidates()
  candidates.add(2, destinations('192.0.2.3'))
  candidates.add(1, destinations('192.0.2.2', '2001:db8::2'))
  candidates.add(0, [])
  expect(candidates.take()?.ip).toBe('192.0.2.2')
  candidates.add(0, destinations('2001:db8::1'))
  expect(all(candidates)).toEqual(['2001:db8::1', '2001:db8::2', '192.0.2.3'])
})

test('they are exhausted once nothing is left to try and nothing more comes', () => {
  const candidates = new Candidates()
  expect(candidates.exhausted).toBe(false)
  candidates.add(1, destinations('192.0.2.1'))
  candidates.end('dns')
  expect(candidates.exhausted).toBe(false)
  const slow = candidates.take()
  expect(candidates.exhausted).toBe(true)
  candidates.putBack([slow!])
  expect(candidates.exhausted).toBe(false)
})

test('those that were given back come first', () => {
  const candidates = Candidates.of(destinations('192.0.2.1', '192.0.2.2'))
  candidates.putBack(destinations('192.0.2.3', '192.0.2.4'))
  expect(all(candidates)).toEqual(['192.0.2.3', '192.0.2.4', '192.0.2.1', '192.0.2.2'])
})

test('it tells of destinations and of the end, and not of nothing', () => {
  const candidates = new Candidates()
  candidates.onChange = vi.fn()
  candidates.add(0, [])
  expect(candidates.onChange).not.toHaveBeenCalled()
  candidates.add(0, destinations('192.0.2.1'))
  expect(candidates.onChange).toHaveBeenCalledTimes(1)
  expect(candidates.failure).toBeUndefined()
  candidates.end('dns')
  expect(candidates.onChange).toHaveBeenCalledTimes(2)
  expect(candidates.failure).toBe('dns')
})
