import { createServer, ServerResponse, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdmin } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
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

const urlOf = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}/authorize`

function linkWith(fields: Record<string, string>): string {
  const all = { client_id: clientId, redirect_uri: web, response_type: 'code', ...fields }
  return `${urlOf()}?${new URLSearchParams(all).toString()}`
}

const open = (fields: Record<string, string> = {}): Promise<Response> =>
  fetch(linkWith(fields), { redirect: 'manual' })

/** Opens the page as a user, and returns a function that sends its form as another. */
async function openAs(opener: string): Promise<(agreeing: string | null) => Promise<number>> {
  user = opener
  const shown = await open()
  const [, key = ''] = /name="key" value="([^"]+)"/.exec(await shown.text()) ?? []
  return async (agreeing) => {
    user = agreeing
    const body = new URLSearchParams({ key, answer: 'allow' })
    return (await fetch(urlOf(), { method: 'POST', body, redirect: 'manual' })).status
  }
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

test('only the user whom the page was shown to can agree, once', async () => {
  const agree = await openAs('ada')
  expect([await agree('bob'), await agree(null), await agree('ada'), await agree('ada')]).toEqual([
    400, 401, 303, 400,
  ])
})

test('nobody can agree ten minutes later', async () => {
  const agree = await openAs('ada')
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 10 * 60 * 1000 })
  onTestFinished(() => void vi.useRealTimers())
  expect(await agree('ada')).toBe(400)
})

test('a user who opens the page again and again ends the request of nobody else', async () => {
  const agree = await openAs('ada')
  user = 'eve'
  // Without connections, which would take most of the time.
  const request = { method: 'GET', url: linkWith({}) } as IncomingMessage
  // oxlint-disable-next-line no-await-in-loop
  for (let opened = 0; opened < 1000; opened += 1) await page(request, new ServerResponse(request))
  expect(await agree('ada')).toBe(303)
})
