import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdmin } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAuthorizationPage } from './authorization-page.ts'

const admin = createAdmin({ storage: memoryStorage() })
const web = 'https://client.example/callback'
const app = 'com.example.app://bank.example/callback'
let user: string | null = null
const page = createAuthorizationPage(admin, () => user)
const server = createServer((request, response) => void page(request, response))
let clientId: string

beforeAll(async () => {
  ;({ clientId } = await admin.createClient({ redirectUris: [web, app] }))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterAll(() => void server.close())

async function open(fields: Record<string, string>): Promise<Response> {
  const { port } = server.address() as AddressInfo
  const all = { client_id: clientId, redirect_uri: web, response_type: 'code', ...fields }
  const query = new URLSearchParams(all).toString()
  return fetch(`http://127.0.0.1:${port}/authorize?${query}`, { redirect: 'manual' })
}

test('an error is sent back to the client only by a user who is signed in', async () => {
  user = null
  for (const response_type of ['token', 'code']) {
    const answer = await open({ response_type })
    expect([answer.status, answer.headers.get('location')]).toEqual([401, null])
  }
  user = 'ada'
  expect((await open({ response_type: 'token' })).headers.get('location')).toContain(`${web}?error=`)
})

test('the page names the host that the user goes back to, or the app', async () => {
  user = 'ada'
  expect(await (await open({})).text()).toContain('go back to client.example.')
  const challenge = { code_challenge: 'x'.repeat(43), code_challenge_method: 'S256' }
  const text = await (await open({ redirect_uri: app, ...challenge })).text()
  expect(text).toContain('go back to the app com.example.app.')
  expect(text).not.toContain('bank.example')
})
