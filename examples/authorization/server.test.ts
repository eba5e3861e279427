import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { startExample, type RunningExample } from '../../test/package/start-example.ts'

let example: RunningExample
let clientUrl: string

beforeAll(async () => {
  example = await startExample('authorization', { CLIENT_PORT: '0' })
  await vi.waitFor(() => expect(example.output()).toContain('in a browser'))
  clientUrl = /Open (\S+)\/ in/.exec(example.output())?.[1] ?? ''
})
afterAll(async () => {
  expect(await example.stop()).toBe(0)
})

interface ConsentPage {
  readonly status: number
  readonly text: string
  readonly key: string
  readonly cookie: string
}

/** Opens a link as a browser does, and returns the consent page. */
async function open(link: string): Promise<ConsentPage> {
  const response = await fetch(link, { redirect: 'manual' })
  const text = await response.text()
  const key = /name="key" value="([^"]+)"/.exec(text)?.[1] ?? ''
  return {
    status: response.status,
    text,
    key,
    cookie: (response.headers.get('set-cookie') ?? '').split(';')[0] ?? '',
  }
}

async function startRound(): Promise<string> {
  const response = await fetch(`${clientUrl}/`, { redirect: 'manual' })
  return response.headers.get('location') ?? ''
}

async function answer({ key, cookie }: ConsentPage, choice: 'allow' | 'deny'): Promise<Response> {
  return fetch(`${example.url}/authorize`, {
    method: 'POST',
    headers: { Cookie: cookie },
    body: new URLSearchParams({ key, answer: choice }),
    redirect: 'manual',
  })
}

const locationOf = (response: Response): string => response.headers.get('location') ?? ''

test('if the user agrees, the client gets one token', async () => {
  const page = await open(await startRound())
  expect(page.text).toContain('<h1>Example client wants to</h1>\n<ul><li>see who you are</li></ul>')
  const agreed = await answer(page, 'allow')
  expect(agreed.status).toBe(303)
  const callback = locationOf(agreed)
  expect(callback).toMatch(new RegExp(`^${clientUrl}/callback\\?code=uapi_ac_\\w{42}&state=`))
  const done = await fetch(callback)
  expect([done.status, await done.json()]).toStrictEqual([200, { granted: 'profile', user: { name: 'ada' } }])
  expect((await fetch(callback)).status).toBe(400)
  expect((await answer(page, 'allow')).status).toBe(400)
})

test('if the user does not agree, the client gets no code', async () => {
  const callback = locationOf(await answer(await open(await startRound()), 'deny'))
  expect(await (await fetch(callback)).json()).toStrictEqual({ refused: 'access_denied' })
})

test('a form sent from another site, without the cookie, is refused', async () => {
  const page = await open(await startRound())
  expect((await answer({ ...page, cookie: '' }, 'allow')).status).toBe(400)
  expect((await answer({ ...page, cookie: 'consent=other' }, 'allow')).status).toBe(400)
})

test.each([
  ['redirect_uri', 'https://attacker.example/'],
  ['client_id', 'nobody'],
])('a wrong %s redirects nobody', async (name, value) => {
  const link = new URL(await startRound())
  link.searchParams.set(name, value)
  expect(await open(link.href)).toMatchObject({ status: 400, key: '' })
})

test.each([
  ['response_type', 'token', 'unsupported_response_type'],
  ['scope', 'everything', 'invalid_scope'],
  ['code_challenge_method', 'plain', 'invalid_request'],
  ['code_challenge', 'short', 'invalid_request'],
])('%s=%s comes back to the client as %s', async (name, value, error) => {
  const link = new URL(await startRound())
  link.searchParams.set(name, value)
  const response = await fetch(link, { redirect: 'manual' })
  expect(new URL(locationOf(response)).searchParams.get('error')).toBe(error)
})

test('the guarded route refuses requests without a token', async () => {
  const refused = await fetch(`${example.url}/me`)
  expect([refused.status, refused.headers.get('www-authenticate')]).toStrictEqual([
    401,
    'Bearer realm="utility-api"',
  ])
})

test('the page runs no script, cannot be framed, and loads only its own style', async () => {
  const response = await fetch(await startRound(), { redirect: 'manual' })
  const text = await response.text()
  const [, style = ''] = /<style>([^]*)<\/style>/.exec(text) ?? []
  const hash = createHash('sha256').update(style).digest('base64')
  expect(response.headers.get('content-security-policy')).toBe(
    `default-src 'none'; style-src 'sha256-${hash}'; frame-ancestors 'none'`,
  )
})

test('the client refuses a callback for a request that it did not start', async () => {
  expect((await fetch(`${clientUrl}/callback?code=x&state=y`)).status).toBe(400)
})
