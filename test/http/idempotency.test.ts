/** A repeat of "generate" with an Idempotency-Key gets the first answer again and makes no second license. */
import { expect } from 'vitest'
import { runRows, type Row } from './support/rows.ts'
import type { TestAnswer, TestRequest } from './support/surfaces.ts'
import { generateRequest, type World } from './support/world.ts'

const day = 24 * 60 * 60 * 1000

const generate = (key: string, token: string, changes: Record<string, string> = {}): TestRequest =>
  generateRequest(token, { 'Idempotency-Key': key, ...changes })

const send = (world: World, key: string): Promise<TestAnswer> =>
  world.send(generate(key, world.resellerToken))

const keyOf = ({ json }: TestAnswer): string => (json as { data: { license_key: string } }).data.license_key

async function licenseCount({ admin }: World): Promise<number> {
  return (await admin.listLicenses({ limit: 1000 })).licenses.length
}

let last = 0
/** Sends a first request, something between, and the request under test; compares the two keys given out. */
function repeat(
  name: string,
  between: (world: World, first: TestAnswer) => void | Promise<void>,
  same: boolean,
  changes: (world: World) => Record<string, string> = () => ({}),
): Row {
  let first: TestAnswer
  let count = 0
  const idempotencyKey = `key-${(last += 1)}`
  return {
    name,
    request: async (world) => {
      first = await send(world, idempotencyKey)
      expect(first.status).toBe(200)
      await between(world, first)
      count = await licenseCount(world)
      return generate(idempotencyKey, world.resellerToken, changes(world))
    },
    status: 200,
    check: async (world, answer) => {
      if (same) expect(answer.text).toBe(first.text)
      else expect(keyOf(answer)).not.toBe(keyOf(first))
      expect((await licenseCount(world)) - count).toBe(same ? 0 : 1)
    },
  }
}

runRows('Idempotency', [
  repeat('a repeat gets the first answer', () => {}, true),
  repeat('a repeat after 24 hours less a millisecond', ({ clock }) => clock.advance(day - 1), true),
  repeat('after 24 hours the key is new', ({ clock }) => clock.advance(day), false),
  repeat(
    'a repeat after an update still gets the first answer',
    async ({ send: sendTo, resellerToken }, first) => {
      const headers = {
        Authorization: `Bearer ${resellerToken}`,
        'X-Status': 'invalid',
        'X-Registered-To': 'New',
      }
      const updated = await sendTo({ method: 'PUT', path: `/v2/reseller/${keyOf(first)}/update`, headers })
      expect(updated.status).toBe(200)
    },
    true,
  ),
  repeat(
    "another reseller's key is another key",
    () => {},
    false,
    ({ otherResellerToken }) => ({
      Authorization: `Bearer ${otherResellerToken}`,
    }),
  ),
  ...Object.entries({
    'X-Registered-To': 'Other',
    'X-Domain-Or-IP': 'example.org',
    'X-Status': 'invalid',
  }).map(([name, value]): Row => ({
    name: `the same key with another ${name}`,
    request: async (world) => {
      await send(world, `mismatch-${name}`)
      return generate(`mismatch-${name}`, world.resellerToken, { [name]: value })
    },
    status: 422,
    body: {
      error: 'idempotency_mismatch',
      message: 'The Idempotency-Key was sent before with other fields.',
    },
  })),
  ...['x'.repeat(256), 'a b', 'caf\u00e9'].map((key): Row => ({
    name: `Idempotency-Key ${key.slice(0, 10)}`,
    request: ({ resellerToken }) => generate(key, resellerToken),
    status: 400,
    body: {
      error: 'invalid_request',
      message: 'Idempotency-Key must have 1 to 255 visible ASCII characters.',
    },
  })),
  {
    name: 'twenty racers with one key get one license',
    request: ({ resellerToken }) => generate('race', resellerToken),
    status: 200,
    check: async (world, first) => {
      const before = await licenseCount(world)
      const others = await Promise.all(Array.from({ length: 20 }, () => send(world, 'race')))
      expect(new Set(others.map(keyOf))).toStrictEqual(new Set([keyOf(first)]))
      const fresh = await Promise.all(Array.from({ length: 20 }, () => send(world, 'fresh-race')))
      expect(new Set(fresh.map(keyOf)).size).toBe(1)
      expect((await licenseCount(world)) - before).toBe(1)
    },
  },
])
