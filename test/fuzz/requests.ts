import assert from 'node:assert/strict'
import { createAdmin, createUtilityApi, type RequestLike } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { idleClients } from '../support/idle-clients.ts'
import type { FuzzTarget } from './target.ts'

const storage = memoryStorage()
const admin = createAdmin({ storage })
const { token } = await admin.createReseller()
const { apiKey } = await admin.createApiKey()
const { accessToken } = await admin.createAccessToken({ scope: '' })
const redirect_uri = 'https://client.example/callback'
const { clientId, clientSecret } = await admin.createClient({ redirectUris: [redirect_uri] })
const members = { grant_type: 'authorization_code', code: 'c', redirect_uri }
const form = String(new URLSearchParams(members))
const client = `Authorization: Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`
const [reseller, caller] = [`Authorization: Bearer ${token}`, `Authorization: Bearer ${accessToken}`]
const license = ['X-Registered-To: Università', 'X-Domain-Or-IP: ü.example', 'X-Status: valid']
const api = createUtilityApi({ storage, ...idleClients })

/** Each is the request line, headers, an empty line, the body. */
const requests: readonly Buffer[] = [
  ['POST /v4/oauth2/token', client, 'Content-Type: application/json', '', JSON.stringify(members)],
  ['POST /v4/oauth2/token', client, 'Content-Type: application/x-www-form-urlencoded', '', form],
  ['PUT /v2/reseller/LIC-1%2F/update', reseller, 'X-Status: valid', 'X-Domain-Or-IP: a.example', '', ''],
  ['POST /v2/reseller/licenses/generate', reseller, ...license, 'Idempotency-Key: k', '', ''],
  [
    'GET /v3/tools/dnscheck?x#y',
    caller,
    'X-Domain: a.example',
    'X-Record-Type: PTR',
    'X-Request-Id: r',
    '',
    '',
  ],
  ['HEAD http://h/v4/games/blockgame/lookup', `Basic: ${apiKey}`, 'X-Address: [::1]:1', 'X-Port: 1', '', ''],
  ['OPTIONS /', '', ''],
].map((lines) => Buffer.from(lines.join('\n'), 'latin1'))

function parseRequest(input: Buffer): RequestLike {
  const text = input.toString('latin1')
  const headEnd = Math.max(0, text.indexOf('\n\n'))
  const [line = '', ...lines] = text.slice(0, headEnd).split('\n')
  const [method = '', url = ''] = line.split(' ')
  const headers = new Map(
    lines.map((each) => [each.slice(0, each.indexOf(':')).toLowerCase(), each.slice(each.indexOf(':') + 2)]),
  )
  const body = Buffer.from(text.slice(headEnd + 2), 'latin1')
  return {
    method,
    url,
    header: (name) => headers.get(name.toLowerCase()) ?? null,
    body: async () => body,
    signal: new AbortController().signal,
  }
}

export const requestTarget: FuzzTarget = {
  name: 'a whole request',
  corpus: requests,
  async check(input) {
    const request = parseRequest(input)
    const { status, headers, body } = await api.dispatch(request, { ip: '192.0.2.1' })
    assert(status >= 200 && status < 500, `status ${status}: ${body}`)
    for (const value of Object.values(headers)) assert.match(value, /^[ -~]*$/)
    if (body !== '') JSON.parse(Buffer.from(body as string).toString())
  },
}
