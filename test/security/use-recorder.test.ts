import { createAdmin, createUtilityApi } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { fixedClock } from 'utility-api/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createUseRecorder, type UseRecorderParts } from '../../src/security/use-recorder.ts'
import { refused } from '../../src/domain/errors.ts'

const day = 86_400_000
const start = 20_000 * day

type Report = readonly [kind: string, ids: readonly string[], at: number]

/** A recorder that reports every second, and what it reports. */
function record(fails: () => boolean = () => false): {
  readonly parts: UseRecorderParts
  readonly reports: Report[]
  readonly deadlines: object[]
  readonly clock: ReturnType<typeof fixedClock>
  readonly warnings: unknown[]
} {
  const reports: Report[] = []
  const deadlines: object[] = []
  const warnings: unknown[] = []
  const clock = fixedClock(start + 5)
  const logger = { debug() {}, info() {}, warn: (...all: unknown[]) => void warnings.push(all), error() {} }
  const storage: UseRecorderParts['storage'] = {
    async recordUse(kind, ids, at, call) {
      deadlines.push(call)
      if (fails()) throw refused({ code: 'database_error', message: 'The database failed.' })
      reports.push([kind, ids, at])
    },
  }
  return {
    parts: { storage, logger, storageTimeoutMs: 1000, intervalMs: 1000 },
    reports,
    deadlines,
    clock,
    warnings,
  }
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

test('a credential is reported once a day, however often it is used, and never before the interval', async () => {
  const { parts, reports, clock } = record()
  const uses = createUseRecorder(parts)
  for (let count = 0; count < 1000; count += 1) uses.note('api_key', 'b', clock.now())
  uses.note('api_key', 'a', clock.now())
  uses.note('reseller_token', 'b', clock.now())
  await vi.advanceTimersByTimeAsync(999)
  expect(reports).toEqual([])
  await vi.advanceTimersByTimeAsync(1)
  expect(reports).toEqual([
    ['api_key', ['a', 'b'], start],
    ['reseller_token', ['b'], start],
  ])
  clock.advance(day - 6)
  uses.note('api_key', 'a', clock.now())
  await vi.advanceTimersByTimeAsync(5000)
  expect(reports).toHaveLength(2)
  clock.advance(1)
  uses.note('api_key', 'a', clock.now())
  await vi.advanceTimersByTimeAsync(1000)
  expect(reports.slice(2)).toEqual([['api_key', ['a'], start + day]])
})

test('at most 500 are named at once', async () => {
  const { parts, reports, clock } = record()
  const uses = createUseRecorder(parts)
  for (let index = 0; index < 1201; index += 1) uses.note('api_key', `${index}`, clock.now())
  await vi.advanceTimersByTimeAsync(1000)
  expect(reports.map(([, ids]) => ids.length)).toEqual([500, 500, 201])
  expect(new Set(reports.flatMap(([, ids]) => ids)).size).toBe(1201)
})

test('the calls of one report share one deadline, so that closing does not take one for each', async () => {
  const { parts, deadlines } = record()
  const uses = createUseRecorder(parts)
  for (let index = 0; index < 501; index += 1) uses.note('api_key', `${index}`, start)
  uses.note('reseller_token', 'r', start)
  await uses.close()
  expect(deadlines).toHaveLength(3)
  expect(new Set(deadlines).size).toBe(1)
})

test('closing waits for a report that is under way, and reports what that could not', async () => {
  const { parts, reports } = record()
  const first = Promise.withResolvers<void>()
  let calls = 0
  const storage: UseRecorderParts['storage'] = {
    async recordUse(...report) {
      calls += 1
      if (calls === 1) await first.promise
      await parts.storage.recordUse(...report)
    },
  }
  const uses = createUseRecorder({ ...parts, storage })
  uses.note('api_key', 'a', start)
  await vi.advanceTimersByTimeAsync(1000)
  let isClosed = false
  const closing = uses.close().then(() => (isClosed = true))
  await vi.advanceTimersByTimeAsync(0)
  expect([calls, isClosed]).toEqual([1, false])
  first.reject(new Error('The database failed.'))
  await closing
  expect(reports).toEqual([['api_key', ['a'], start]])
})

test('what could not be reported is reported later, with the day of its use', async () => {
  let down = true
  const { parts, reports, clock, warnings } = record(() => down)
  const uses = createUseRecorder(parts)
  uses.note('api_key', 'a', clock.now())
  await vi.advanceTimersByTimeAsync(3000)
  expect([reports.length, warnings.length]).toEqual([0, 3])
  clock.advance(day)
  uses.note('api_key', 'a', clock.now())
  down = false
  await vi.advanceTimersByTimeAsync(1000)
  expect(reports).toEqual([
    ['api_key', ['a'], start],
    ['api_key', ['a'], start + day],
  ])
})

test('a clock that goes back over midnight has no credential named twice', async () => {
  const { parts, reports } = record()
  const uses = createUseRecorder(parts)
  for (const at of [start, start + day, start]) uses.note('api_key', 'a', at)
  await uses.close()
  expect(reports).toEqual([
    ['api_key', ['a'], start],
    ['api_key', ['a'], start + day],
  ])
})

test.each([Number.NaN, Number.POSITIVE_INFINITY])(
  'a clock that tells %d has nothing recorded',
  async (at) => {
    let calls = 0
    const { parts } = record(() => (calls += 1) > 3)
    const uses = createUseRecorder(parts)
    uses.note('api_key', 'a', at)
    await uses.close()
    expect(calls).toBe(0)
  },
)

test('closing reports at once, and leaves no timer', async () => {
  const { parts, reports, clock } = record()
  const uses = createUseRecorder(parts)
  uses.note('api_key', 'a', clock.now())
  await uses.close()
  uses.note('api_key', 'late', clock.now())
  await vi.advanceTimersByTimeAsync(10_000)
  expect(reports).toEqual([['api_key', ['a'], start]])
  expect(vi.getTimerCount()).toBe(0)
})

test('the lists show the day of the last use of what was accepted, and of nothing that was refused', async () => {
  const storage = memoryStorage()
  const clock = fixedClock(start + 7)
  const admin = createAdmin({ storage, clock })
  const { apiKey, apiKeyId } = await admin.createApiKey()
  const { apiKey: expired } = await admin.createApiKey({ lifetimeSeconds: 1 })
  const { apiKey: revoked, apiKeyId: revokedId } = await admin.createApiKey()
  await admin.revoke({ id: revokedId })
  const { token, resellerId } = await admin.createReseller({ resellerId: 'shop' })
  const { accessToken } = await admin.createAccessToken({ scope: '' })
  const api = createUtilityApi({ storage, clock })
  clock.advance(1000)
  await api.verifyApiKey(apiKey)
  await expect(api.verifyApiKey(expired)).rejects.toThrow()
  await expect(api.verifyApiKey(revoked)).rejects.toThrow()
  await api.verifyAccessToken(accessToken)
  const headers = {
    authorization: `Bearer ${token}`,
    'x-registered-to': 'Ada',
    'x-domain-or-ip': 'a.example',
  }
  const request = new Request('http://host/v2/reseller/licenses/generate', {
    method: 'POST',
    headers: { ...headers, 'x-status': 'valid' },
  })
  expect((await api.fetch(request)).status).toBe(200)
  await api.close()
  const keys = await admin.listCredentials({ kind: 'api_key' })
  const uses = keys.credentials.map(({ id, lastUsedOn }) => [id === apiKeyId, lastUsedOn])
  expect(uses).toEqual([
    [true, start],
    [false, null],
    [false, null],
  ])
  const tokens = await admin.listCredentials({ kind: 'reseller_token', ownerId: resellerId })
  expect(tokens.credentials.map(({ lastUsedOn }) => lastUsedOn)).toEqual([start])
  const others = await admin.listCredentials({ kind: 'access_token' })
  expect(others.credentials.map(({ lastUsedOn }) => lastUsedOn)).toEqual([null])
})

test('a store that records no uses serves as before, and its lists say null', async () => {
  const { recordUse: _, ...storage } = memoryStorage()
  const admin = createAdmin({ storage })
  const { apiKey } = await admin.createApiKey()
  const api = createUtilityApi({ storage })
  await api.verifyApiKey(apiKey)
  await api.close()
  const { credentials } = await admin.listCredentials({ kind: 'api_key' })
  expect(credentials.map(({ lastUsedOn }) => lastUsedOn)).toEqual([null])
})
