/** What authors of mounts build on: which bodies are dropped, and which replies they may leave to others. */
import { createAdmin, createUtilityApi } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { expect, test, vi } from 'vitest'
import { licenseHeaders } from './support/world.ts'

const storage = memoryStorage()
const { dispatch } = createUtilityApi({ storage })
const { token } = await createAdmin({ storage }).createReseller()

/** A request as a mount shows it, with a body that never arrives. */
function view(line: string, headers: Readonly<Record<string, string>> = {}) {
  const [method = '', url = ''] = line.split(' ')
  const all: typeof headers = { Authorization: `Bearer ${token}`, ...headers }
  const body = vi.fn(() => new Promise<never>(() => {}))
  return { method, url, header: (name: string) => all[name] ?? null, body, drain: vi.fn() }
}

test.each([
  ['an operation that has none', 'POST /v2/reseller/licenses/generate', 200],
  ['OPTIONS', 'OPTIONS /v4/oauth2/token', 204],
])('the body of %s is dropped at once', async (_, line, status) => {
  const request = view(line, licenseHeaders)
  const reply = dispatch(request)
  expect(request.drain).toHaveBeenCalledTimes(1)
  expect(await reply).toMatchObject({ status })
})

test('a body of a type that is not read is dropped', async () => {
  const request = view('POST /v4/oauth2/token', { 'Content-Type': 'text/plain' })
  expect(await dispatch(request)).toMatchObject({ status: 415 })
  expect(request.body).not.toHaveBeenCalled()
  expect(request.drain).toHaveBeenCalledTimes(1)
})

test.each([
  ['GET /nowhere', 404, true],
  ['PUT /v2/reseller/LIC-none/update', 404, undefined],
  ['GET /v4/oauth2/token', 405, undefined],
])('%s: %i, unrouted %s', async (line, status, unrouted) => {
  const reply = await dispatch(view(line, { 'X-Status': 'valid' }))
  expect({ status: reply.status, unrouted: reply.unrouted }).toEqual({ status, unrouted })
})

test.each([
  ['no context', () => dispatch(view('GET /nowhere'), null as never), { status: 404 }],
  [
    'a view whose headers cannot be read',
    () => {
      const header = (): never => {
        throw new Error('gone')
      }
      return dispatch({ ...view('POST /v2/reseller/licenses/generate'), header })
    },
    { status: 500 },
  ],
])('%s does not make it throw', async (_, call, reply) => {
  expect(await call()).toMatchObject(reply)
})

test.each([undefined, null, {}, { url: '/' }, { header: () => null }, 'GET /'])(
  '%j, which is no view of a request, is refused',
  async (request) => {
    await expect(dispatch(request as never)).rejects.toMatchObject({ code: 'invalid_argument' })
  },
)

test.each([undefined, null, 5, {}])(
  'a request id that is %j, as hosts in JavaScript may have it, is replaced',
  async (id) => {
    const request = { method: 'GET', url: '/', header: () => id as null, body: async () => new Uint8Array() }
    const replies = [await dispatch(request), await dispatch(request, { requestId: id } as object)]
    for (const { headers } of replies) expect(headers['X-Request-Id']).toMatch(/^[\da-f-]{36}$/)
  },
)

test('a secret that is sent as the request id is neither answered nor logged', async () => {
  const logged: unknown[] = []
  const log = (...args: unknown[]): void => void logged.push(args)
  const logger = { debug: log, info: log, warn: log, error: log }
  const { clientSecret } = await createAdmin({ storage }).createClient({ redirectUris: [] })
  const { apiKey } = await createAdmin({ storage }).createApiKey()
  const { dispatch: ask } = createUtilityApi({ storage, logger })
  for (const secret of [token, clientSecret, apiKey, `Bearer:${token}`, token.slice(0, -1), 'UAPI_AT_x']) {
    // oxlint-disable-next-line no-await-in-loop
    const { headers } = await ask(view('GET /v3/tools/dnscheck', { 'X-Request-Id': secret }))
    expect(headers['X-Request-Id']).toMatch(/^[\da-f-]{36}$/)
    // oxlint-disable-next-line no-await-in-loop
    const given = await ask(view('GET /v3/tools/dnscheck'), { requestId: secret })
    expect(given.headers['X-Request-Id']).toMatch(/^[\da-f-]{36}$/)
    expect(JSON.stringify(logged)).not.toContain(secret)
  }
  expect(logged).not.toEqual([])
})
