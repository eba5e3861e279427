import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startExample, type RunningExample } from '../../test/package/start-example.ts'
import { eventually } from '../../test/support/eventually.ts'

let example: RunningExample
let clientUrl: string

beforeAll(async () => {
  example = await startExample('authorization', { CLIENT_PORT: '0' })
  await eventually(() => expect(example.output()).toContain('in a browser'))
  clientUrl = /Open (\S+)\/ in/.exec(example.output())?.[1] ?? ''
})
afterAll(async () => {
  expect(await example.stop()).toBe(0)
})

interface ConsentPage {
  readonly status: number
  readonly text: string
  readonly key: string
}

/** Opens a link as a browser does, and returns the consent page. */
async function open(link: string): Promise<ConsentPage> {
  const response = await fetch(link, { redirect: 'manual' })
  const text = await response.text()
  const key = /name="key" value="([^"]+)"/.exec(text)?.[1] ?? ''
  return { status: response.status, text, key }
}

const cookieOf = (response: Response): string =>
  (response.headers.get('set-cookie') ?? '').split(';')[0] ?? ''

/** Begins a round as a browser does, and returns what the browser keeps of it. */
async function beginRound(): Promise<{ readonly link: string; readonly Cookie: string }> {
  const response = await fetch(`${clientUrl}/`, { redirect: 'manual' })
  return { link: response.headers.get('location') ?? '', Cookie: cookieOf(response) }
}

const startRound = async (): Promise<string> => (await beginRound()).link

async function answer({ key }: ConsentPage, choice: 'allow' | 'deny'): Promise<Response> {
  return fetch(`${example.url}/authorize`, {
    method: 'POST',
    body: new URLSearchParams({ key, answer: choice }),
    redirect: 'manual',
  })
}

const locationOf = (response: Response): string => response.headers.get('location') ?? ''

test('if the user agrees, the client gets one token', async () => {
  const { link, Cookie } = await beginRound()
  const page = await open(link)
  expect(page.text).toContain('<h1>Example client wants to</h1>\n<ul><li>see who you are</li></ul>')
  const agreed = await answer(page, 'allow')
  expect(agreed.status).toBe(303)
  const callback = locationOf(agreed)
  expect(callback).toMatch(new RegExp(`^${clientUrl}/callback\\?code=uapi_ac_\\w{42}&state=`))
  // Of no use in another browser: its user would be signed in to somebody else's account.
  expect((await fetch(callback)).status).toBe(400)
  const done = await fetch(callback, { headers: { Cookie } })
  expect([done.status, await done.json()]).toStrictEqual([200, { granted: 'profile', user: { name: 'ada' } }])
  expect(done.headers.get('set-cookie')).toContain('round=; Max-Age=0')
  // A code buys one token.
  expect((await fetch(callback, { headers: { Cookie } })).status).toBe(400)
  expect((await answer(page, 'allow')).status).toBe(400)
})

test('if the user does not agree, the client gets no code', async () => {
  const { link, Cookie } = await beginRound()
  const callback = locationOf(await answer(await open(link), 'deny'))
  expect(await (await fetch(callback, { headers: { Cookie } })).json()).toStrictEqual({
    refused: 'access_denied',
  })
})

/** What a person does whom a program has sent to its browser: agrees, and is sent back to the program. */
async function agreeAt(link: string, choice: 'allow' | 'deny' = 'allow'): Promise<void> {
  await fetch(locationOf(await answer(await open(link), choice)))
}

describe('a program with a port of the system', () => {
  const settings = (): string[] => /program\.ts (\S+) (\S+)/.exec(example.output())?.slice(1) ?? []

  async function run(choice: 'allow' | 'deny'): Promise<string> {
    const file = join(import.meta.dirname, 'program.ts')
    const child = spawn(process.execPath, [file, ...settings()], { stdio: ['ignore', 'pipe', 'inherit'] })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk
    })
    await eventually(() => expect(output).toContain('Open'))
    const link = /Open (\S+)/.exec(output)?.[1] ?? ''
    // Any page that its user has open may send this.
    const foreign = `${new URL(link).searchParams.get('redirect_uri')}/?error=%1B[2J&state=x`
    expect((await fetch(foreign)).status).toBe(404)
    await agreeAt(link, choice)
    await once(child, 'close')
    return output
  }

  test('gets a token if the user agrees', async () => {
    expect(await run('allow')).toContain('The token opens: {"name":"ada"}')
  })

  test('is told if the user does not', async () => {
    expect(await run('deny')).toContain('No token: access_denied.')
  })

  // A program that nobody here wrote, if it is installed (the Debian package git-credential-oauth).
  const git = spawnSync('git-credential-oauth').error === undefined
  if (!git) console.warn('Skipped: git-credential-oauth is not installed.')
  test.skipIf(!git)('may be git-credential-oauth', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'native-'))
    try {
      const [issuer = '', clientId = ''] = settings()
      const opened = join(folder, 'opened')
      // What it takes for the browser.
      writeFileSync(join(folder, 'open'), `#!/bin/sh\necho "$1" > ${opened}\n`, { mode: 0o755 })
      const fields = {
        oauthClientId: clientId,
        oauthScopes: 'profile',
        oauthAuthURL: '/authorize',
        oauthTokenURL: '/v4/oauth2/token',
      }
      const lines = Object.entries(fields).map(([name, value]) => `  ${name} = ${value}\n`)
      writeFileSync(join(folder, 'config'), `[credential "${issuer}"]\n${lines.join('')}`)
      const child = spawn('git-credential-oauth', ['get'], {
        stdio: ['pipe', 'pipe', 'ignore'],
        env: {
          HOME: folder,
          GIT_CONFIG_GLOBAL: join(folder, 'config'),
          PATH: `${folder}:${process.env['PATH']}`,
        },
      })
      child.stdin.end(`protocol=http\nhost=${new URL(issuer).host}\n\n`)
      const output = textOf(child.stdout)
      await eventually(() => expect(readFileSync(opened, 'utf8')).toContain('\n'))
      const link = readFileSync(opened, 'utf8').trim()
      expect(link).toMatch(/redirect_uri=http%3A%2F%2F127\.0\.0\.1%3A\d+&/)
      await agreeAt(link)
      const [, token = ''] = /^password=(\S+)$/m.exec(await output) ?? []
      const me = await fetch(`${example.url}/me`, { headers: { Authorization: `Bearer ${token}` } })
      expect(await me.json()).toStrictEqual({ name: 'ada' })
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

test('a client finds the endpoints, and an answer says whose it is', async () => {
  const issuer = new URL(example.url)
  const options = { algorithm: 'oauth2', [oauth.allowInsecureRequests]: true } as const
  const server = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, options))
  const link = new URL(await startRound())
  expect(server.authorization_endpoint).toBe(`${link.origin}${link.pathname}`)
  const callback = new URL(locationOf(await answer(await open(link.href), 'allow')))
  const client = { client_id: link.searchParams.get('client_id') ?? '' }
  const state = link.searchParams.get('state') ?? ''
  expect(oauth.validateAuthResponse(server, client, callback, state).get('code')).toMatch(/^uapi_ac_/)
  callback.searchParams.delete('iss')
  expect(() => oauth.validateAuthResponse(server, client, callback, state)).toThrow('iss')
  const found = await openid.discovery(issuer, 'any', 'secret', undefined, {
    algorithm: 'oauth2',
    execute: [openid.allowInsecureRequests],
  })
  expect(found.serverMetadata().token_endpoint).toBe(`${example.url}/v4/oauth2/token`)
})

test('a form sent from another site, without the key, is refused', async () => {
  const page = await open(await startRound())
  expect((await answer({ ...page, key: '' }, 'allow')).status).toBe(400)
  expect((await answer({ ...page, key: 'other' }, 'allow')).status).toBe(400)
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
  // For browsers without that policy (RFC 9700 section 4.16).
  expect(response.headers.get('x-frame-options')).toBe('DENY')
})

test('the client refuses a callback for a request that it did not start', async () => {
  expect((await fetch(`${clientUrl}/callback?code=x&state=y`)).status).toBe(400)
})

test('a request keeps the question marks in its state, and is refused if it is very long', async () => {
  const link = await startRound()
  const state = 'a?b'
  const asked = await open(link.replace(/(?<=[?&]state=)[^&]*/, state))
  expect(new URL(locationOf(await answer(asked, 'allow'))).searchParams.get('state')).toBe(state)
  expect((await open(`${link}${'x'.repeat(4096)}`)).status).toBe(414)
})

test.each(['//[', 'http://:bad/'])('the target %s ends neither the client nor the server', async (target) => {
  for (const url of [clientUrl, example.url]) {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    socket.end(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    // oxlint-disable-next-line no-await-in-loop
    expect(await textOf(socket)).toMatch(/^HTTP\/1\.1 [34]\d\d /)
  }
  expect((await fetch(`${example.url}/me`)).status).toBe(401)
})
