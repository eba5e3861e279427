/** What the view of a standard Request does with bodies that hosts give, or keep to themselves. */
import { createAdmin, createUtilityApi } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'

const api = createUtilityApi({ storage: memoryStorage() })

test.each([
  ['GET', { 'Transfer-Encoding': 'chunked' }, true],
  ['HEAD', { 'Content-Length': '1001' }, true],
  ['GET', { 'Content-Length': '1001' }, true],
  ['GET', { 'Content-Length': '1000' }, false],
  ['GET', {}, false],
] as const)(
  'a host that keeps the body of a %s with %j to itself: refused %s',
  async (method, headers, refused) => {
    const request = new Request('http://localhost/v4/games/blockgame/lookup', { method, headers })
    const answer = await api.fetch(request)
    expect([answer.status, answer.headers.get('Connection')]).toEqual(refused ? [400, 'close'] : [401, null])
  },
)

/** A body that counts what was read of it. */
function counted(pieces: number, piece: Uint8Array): { body: ReadableStream<Uint8Array>; read(): number } {
  let read = 0
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (read === pieces) return controller.close()
      read += 1
      controller.enqueue(piece)
    },
  })
  return { body, read: () => read }
}

test.each([
  ['in more pieces than are read', 5000, 1, 400],
  ['larger than is read', 200, 1000, 413],
])('a standard Request with a body %s: the rest is read and dropped', async (_, pieces, size, status) => {
  const { body, read } = counted(pieces, new Uint8Array(size))
  const request = new Request('http://localhost/v4/oauth2/token', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' },
    body,
    duplex: 'half',
  } as RequestInit)
  expect((await api.fetch(request)).status).toBe(status)
  await eventually(() => expect(read()).toBe(pieces))
})

test('path parameters of the host add to those of the path', async () => {
  const storage = memoryStorage()
  const { handlers } = createUtilityApi({ storage })
  const { token } = await createAdmin({ storage }).createReseller()
  const init = { method: 'PUT', headers: { Authorization: `Bearer ${token}`, 'X-Status': 'valid' } }
  const update = async (path: string, params: Record<string, string>): Promise<unknown> => {
    const response = await handlers.updateLicense(new Request(`http://localhost${path}`, init), {
      params,
    })
    return response.json()
  }
  const unknown = expect.objectContaining({ error: 'license_not_found' })
  expect(await update('/v2/reseller/ABC/update', {})).toEqual(unknown)
  expect(await update('/v2/reseller/ABC/update', { tenant: 'a' })).toEqual(unknown)
  expect(await update('/elsewhere', { license_key: 'ABC' })).toEqual(unknown)
  expect(await update('/elsewhere', {})).toMatchObject({ error: 'invalid_request' })
})

const token = 'http://localhost/v4/oauth2/token'
const json = { 'Content-Type': 'application/json' }

test.each<[string, (request: Request) => Promise<unknown>]>([
  ['as text', (request) => request.text()],
  [
    'with a reader that it has released',
    async ({ body }) => {
      const reader = body?.getReader()
      await reader?.read()
      reader?.releaseLock()
    },
  ],
])('a body that the host has read %s is the fault of the host', async (_, read) => {
  const request = new Request(token, { method: 'POST', headers: json, body: '{}' })
  await read(request)
  expect((await api.fetch(request)).status).toBe(500)
})

test.each([
  [1000, 401],
  [1001, 400],
])('a body in %i pieces is answered %i', async (pieces, status) => {
  const fields = JSON.stringify({ client_id: 'nobody', client_secret: 'x' }).padEnd(pieces)
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const octet of fields) controller.enqueue(Buffer.from(octet))
      controller.close()
    },
  })
  const init = { method: 'POST', headers: json, body, duplex: 'half' } as RequestInit
  expect((await api.fetch(new Request(token, init))).status).toBe(status)
})
