/** How long bodies may take, how many are read at once, and who is given up for whom. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { BodyReader } from '../../src/http/body-reader.ts'

/** The bodies that are read at once. */
const most = 512

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

const user = new AsyncLocalStorage<string>()

/** A body that is being sent to a reader, and what became of it. */
function send(reader: BodyReader) {
  const { promise, resolve: arrive, reject: breakOff } = Promise.withResolvers<Uint8Array>()
  const drain = vi.fn(() => user.getStore())
  const request = { method: 'POST', url: '/', header: () => null, body: () => promise, drain }
  const read = reader.read(request)
  read.catch(() => undefined)
  return { arrive: () => arrive(new Uint8Array(3)), breakOff: () => breakOff(new Error('gone')), drain, read }
}

type Sent = ReturnType<typeof send>

function sendMany(reader: BodyReader, count: number): Sent[] {
  return Array.from({ length: count }, () => send(reader))
}

/** Which of the bodies were given up. */
function givenUp(bodies: readonly Sent[]): number[] {
  return [...bodies.keys()].filter((index) => bodies[index]?.drain.mock.calls.length === 1)
}

const tooSlow = { code: 'request_timeout', headers: { Connection: 'close' } }

test('a body that has not arrived after ten seconds is given up and drained', async () => {
  const { read, drain } = send(new BodyReader())
  vi.advanceTimersByTime(9999)
  expect(drain).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)
  expect(drain).toHaveBeenCalledTimes(1)
  await expect(read).rejects.toMatchObject(tooSlow)
})

test('a body that breaks off ends its connection', async () => {
  const { read, breakOff } = send(new BodyReader())
  breakOff()
  const incomplete = { code: 'invalid_request', headers: { Connection: 'close' } }
  await expect(read).rejects.toMatchObject(incomplete)
})

test('whatever is begun beyond 512 bodies costs the one that was begun first', async () => {
  const reader = new BodyReader()
  const bodies = user.run('ada', sendMany, reader, most)
  // Those that were begun after others had ended are younger, whatever places they have.
  const ended = bodies.splice(100, 100)
  for (const body of ended) body.arrive()
  await Promise.all(ended.map(({ read }) => read))
  bodies.push(...sendMany(reader, 100))
  expect(givenUp(bodies)).toEqual([])
  bodies.push(...sendMany(reader, 3))
  expect(givenUp(bodies)).toEqual([0, 1, 2])
  expect(bodies[0]?.drain).toHaveReturnedWith('ada')
  await expect(bodies[0]?.read).rejects.toMatchObject(tooSlow)
})

test.each<[string, (body: Sent) => void]>([
  ['has arrived', (body) => body.arrive()],
  ['has broken off', (body) => body.breakOff()],
  ['was given up', () => vi.advanceTimersByTime(10_000)],
  [
    'was given up and arrives nevertheless',
    (body) => {
      vi.advanceTimersByTime(10_000)
      body.arrive()
    },
  ],
])('a body that %s gives back one place, and no timer is left of it', async (_, end) => {
  const reader = new BodyReader()
  const body = send(reader)
  end(body)
  await body.read.catch(() => undefined)
  await new Promise((resolve) => setImmediate(resolve))
  expect(vi.getTimerCount()).toBe(0)
  const others = sendMany(reader, most)
  expect(givenUp(others)).toEqual([])
  send(reader)
  expect(givenUp(others)).toEqual([0])
})

test('a body that arrives late leaves the place alone that another one has taken', async () => {
  const reader = new BodyReader()
  const bodies = sendMany(reader, most + 1)
  bodies[0]?.arrive()
  await new Promise((resolve) => setImmediate(resolve))
  send(reader)
  expect(givenUp(bodies)).toEqual([0, 1])
})
