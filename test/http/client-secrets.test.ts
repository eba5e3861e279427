/** Comparing a secret takes as long, and as many reads, for a client that exists as for one that does not. */
import crypto from 'node:crypto'
import { createAdmin, createUtilityApi } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { expect, test } from 'vitest'
import { spyOnBuiltin } from '../support/spy-on-builtin.ts'

let reads = 0
const memory = memoryStorage()
const storage = {
  ...memory,
  findClient: (...args: Parameters<typeof memory.findClient>) => {
    reads += 1
    return memory.findClient(...args)
  },
}
const admin = createAdmin({ storage })
const { clientId, clientSecret } = await admin.createClient({ redirectUris: ['https://app.example/'] })
const revoked = await admin.createClient({ redirectUris: ['https://app.example/'] })
await admin.revokeClient(revoked.clientId)
const imported = await admin.createClient({
  clientSecret: '100%25+%41 of an imported secret!',
  redirectUris: ['https://app.example/'],
})
const api = createUtilityApi({ storage, dns: false, blockgame: false })

const encoded = (text: string): string => new URLSearchParams([['', text]]).toString().slice(1)
const wrong = imported.clientSecret.replace('!', '?')

/** The sizes of what was compared for a request, and how often a client was looked up. */
async function costOf(init: RequestInit): Promise<{ status: number; compared: number[][]; reads: number }> {
  const compare = spyOnBuiltin(crypto, 'timingSafeEqual')
  reads = 0
  const body = new URLSearchParams(init.body as Record<string, string> | undefined)
  const request = new Request('http://localhost/v4/oauth2/token', { method: 'POST', ...init, body })
  const { status } = await api.fetch(request)
  return {
    status,
    compared: compare.mock.calls.map((pair: Uint8Array[]) => pair.map((each) => each.byteLength)),
    reads,
  }
}

test.each([
  ['encoded, right', imported.clientId, encoded(imported.clientSecret), 400],
  ['encoded, wrong', imported.clientId, encoded(wrong), 401],
  ['encoded, of nobody', 'nobody', encoded(imported.clientSecret), 401],
  ['as it is, right', imported.clientId, imported.clientSecret, 400],
  ['as it is, wrong', imported.clientId, wrong, 401],
  ['as it is, of nobody', 'nobody', imported.clientSecret, 401],
])('HTTP Basic, %s: one read and two comparisons in constant time', async (_, id, secret, status) => {
  const headers = { Authorization: `Basic ${btoa(`${id}:${secret}`)}` }
  expect(await costOf({ headers })).toEqual({
    status,
    compared: [
      [32, 32],
      [32, 32],
    ],
    reads: 1,
  })
})

test('HTTP Basic with a secret that encoding does not change: one comparison', async () => {
  const headers = { Authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}` }
  expect(await costOf({ headers })).toEqual({ status: 400, compared: [[32, 32]], reads: 1 })
})

test.each([
  ['the right secret of a client', clientId, clientSecret, 400],
  ['a wrong secret of a client', clientId, 'wrong', 401],
  ['the secret of a revoked client', revoked.clientId, revoked.clientSecret, 401],
  ['a client that is unknown', 'nobody', clientSecret, 401],
  ['a client that none can be', 'c'.repeat(256), clientSecret, 401],
])('%s: one comparison in constant time', async (_, client_id, client_secret, status) => {
  const body = { client_id, client_secret } as unknown as BodyInit
  const readsOf = client_id.length > 255 ? 0 : 1
  expect(await costOf({ body })).toEqual({ status, compared: [[32, 32]], reads: readsOf })
})
