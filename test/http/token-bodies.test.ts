/** Whatever bytes come: a refusal in our own words, never a crash, an echo or a token. */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { jsonRequest, rawRequest, tokenFields } from './support/token-request.ts'
import type { TestAnswer } from './support/surfaces.ts'
import { createWorld, type World } from './support/world.ts'
import { codePoint } from '../support/code-point.ts'

const numRuns = Number(process.env['PROPERTY_RUNS'] ?? 200)
const logged: unknown[] = []
let world: World

beforeAll(async () => {
  const record = (...entry: unknown[]): unknown => logged.push(entry)
  world = await createWorld('api.fetch', {
    logger: { debug: () => {}, info: record, warn: record, error: record },
  })
})
afterAll(() => world.close())

/** All that an answer to a bad request may consist of: our sentences hold none of these bytes but by their own letters. */
function expectRefusal({ status, json, text }: TestAnswer): void {
  expect(status).toBeGreaterThanOrEqual(400)
  expect(status).toBeLessThan(500)
  expect(Object.keys(json as object)).toStrictEqual(['error', 'error_description'])
  const { error, error_description: sentence } = json as { error: string; error_description: string }
  expect(sentence).toMatch(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/)
  expect([
    'invalid_request',
    'invalid_client',
    'invalid_grant',
    'unsupported_grant_type',
    'unauthorized_client',
  ]).toContain(error)
  expect(text).not.toMatch(/uapi_|access_token|\bat |node:|\.ts/)
  expect(logged).toStrictEqual([])
}

const contentTypes = fc.constantFrom('application/json', 'application/x-www-form-urlencoded')

test('any bytes', async () => {
  await fc.assert(
    fc.asyncProperty(contentTypes, fc.uint8Array({ maxLength: 300 }), async (type, bytes) => {
      expectRefusal(await world.send(rawRequest(bytes, { 'Content-Type': type })))
    }),
    { numRuns },
  )
})

test('any JSON', async () => {
  await fc.assert(
    fc.asyncProperty(fc.json(), async (body) => {
      expectRefusal(await world.send(rawRequest(body, { 'Content-Type': 'application/json' })))
    }),
    { numRuns },
  )
})

test('any fields of the right names, and no echo of them', async () => {
  const marked = fc.string({ unit: codePoint, maxLength: 40 }).map((text) => `ECHO${text}`)
  const value = fc.oneof(marked, fc.constant('authorization_code'), fc.jsonValue())
  const names = ['grant_type', 'code', 'redirect_uri', 'client_id', 'client_secret', 'code_verifier']
  const fields = fc.record(Object.fromEntries(names.map((name) => [name, value])), { requiredKeys: [] })
  await fc.assert(
    fc.asyncProperty(fields, async (body) => {
      const answer = await world.send(jsonRequest(body))
      expectRefusal(answer)
      expect(answer.text).not.toContain('ECHO')
    }),
    { numRuns },
  )
})

test('a valid request with one changed byte gets at most its own token', async () => {
  const valid = Buffer.from(JSON.stringify(await tokenFields(world, { code: 'x'.repeat(57) })))
  await fc.assert(
    fc.asyncProperty(fc.nat(valid.length - 1), fc.integer({ min: 1, max: 255 }), async (index, change) => {
      const body = Buffer.from(valid)
      body[index] = (body[index] ?? 0) ^ change
      expectRefusal(await world.send(rawRequest(body, { 'Content-Type': 'application/json' })))
    }),
    { numRuns },
  )
})

test('any Authorization header', async () => {
  const header = fc.string({ maxLength: 60 }).filter((text) => !/[^\x20-\x7e]/.test(text))
  await fc.assert(
    fc.asyncProperty(header, async (text) => {
      const request = rawRequest('grant_type=authorization_code&code=x&redirect_uri=x', {
        'Content-Type': 'application/x-www-form-urlencoded',
        Authorization: `Basic ${text}`,
      })
      expectRefusal(await world.send(request))
    }),
    { numRuns },
  )
})
