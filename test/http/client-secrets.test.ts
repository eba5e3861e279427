/** Comparing a secret takes as long for a client that exists as for one that does not. */
import { timingSafeEqual } from 'node:crypto'
import { createAdmin, createUtilityApi } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { expect, test, vi } from 'vitest'

vi.mock(import('node:crypto'), async (importOriginal) => {
  const crypto = await importOriginal()
  return { ...crypto, timingSafeEqual: vi.fn(crypto.timingSafeEqual) }
})

const storage = memoryStorage()
const admin = createAdmin({ storage })
const { clientId, clientSecret } = await admin.createClient({ redirectUris: ['https://app.example/'] })
const revoked = await admin.createClient({ redirectUris: ['https://app.example/'] })
await admin.revokeClient(revoked.clientId)
const api = createUtilityApi({ storage, dns: false, blockgame: false })

test.each([
  ['the right secret of a client', clientId, clientSecret, 400],
  ['a wrong secret of a client', clientId, 'wrong', 401],
  ['the secret of a revoked client', revoked.clientId, revoked.clientSecret, 401],
  ['a client that is unknown', 'nobody', clientSecret, 401],
  ['a client that none can be', 'c'.repeat(256), clientSecret, 401],
])('%s: one comparison in constant time', async (_, client_id, client_secret, status) => {
  const compare = vi.mocked(timingSafeEqual)
  compare.mockClear()
  const body = new URLSearchParams({ client_id, client_secret })
  const { status: answered } = await api.fetch(
    new Request('http://localhost/v4/oauth2/token', { method: 'POST', body }),
  )
  expect(answered).toBe(status)
  expect(compare).toHaveBeenCalledTimes(1)
  expect(compare.mock.calls[0]?.map(({ byteLength }) => byteLength)).toEqual([32, 32])
})
