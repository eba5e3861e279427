/** Requests that come in one turn of the event loop are answered side by side. */
import { callWithin } from 'utility-api/storage'
import { hash } from 'node:crypto'
import { createUtilityApi, type UtilityApi } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { afterEach, expect, test, vi } from 'vitest'
import { licenseHeaders } from '../support/license-headers.ts'

const call = callWithin(60_000)

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/** Writes down when storage is asked. */
function serviceThat(noteRead: () => void): UtilityApi {
  const storage = memoryStorage()
  storage.insertReseller({ resellerId: 'r', createdAt: 0 }, call)
  const reseller = {
    id: 't',
    ownerId: 'r',
    subject: null,
    scope: '',
    createdAt: 0,
    expiresAt: null,
    revokedAt: null,
  }
  storage.insertCredential('reseller_token', hash('sha256', 'token', 'buffer'), reseller, call)
  return createUtilityApi({
    storage: {
      ...storage,
      findCredential: (...values) => {
        noteRead()
        return storage.findCredential(...values)
      },
    },
    dns: false,
    blockgame: false,
  })
}

function generate(api: UtilityApi): Promise<{ readonly status: number }> {
  const headers = licenseHeaders('token')
  return api.dispatch({
    method: 'POST',
    url: '/v2/reseller/licenses/generate',
    header: (name) => headers[name] ?? null,
    body: async () => new Uint8Array(),
  })
}

/** As a server reads them: each in a callback of its own, one after the other. */
async function inOneTurn(count: number, send: () => Promise<void>): Promise<void> {
  const requests = Array.from(
    { length: count },
    () => new Promise((resolve) => setImmediate(() => resolve(send()))),
  )
  await Promise.all(requests)
}

test('all are read before the first is worked on, and all are worked on before the first is answered', async () => {
  const seen: string[] = []
  const api = serviceThat(() => seen.push('worked on'))
  async function send(): Promise<void> {
    seen.push('read')
    const { status } = await generate(api)
    seen.push(`answered ${status}`)
  }
  await inOneTurn(2, send)
  await inOneTurn(1, send)
  await inOneTurn(2, send)
  const two = ['read', 'read', 'worked on', 'worked on', 'answered 200', 'answered 200']
  expect(seen).toEqual([...two, 'read', 'worked on', 'answered 200', ...two])
})

test('of many requests, 256 are held back at once: more would outlive short garbage collections, and be refused', async () => {
  let held = 0
  const most: number[] = []
  const api = serviceThat(() => most.push(held))
  async function send(): Promise<void> {
    held += 1
    const { status } = await generate(api)
    held -= 1
    expect(status).toBe(200)
  }
  await inOneTurn(1200, send)
  expect(most).toHaveLength(1200)
  expect(Math.max(...most)).toBe(256)
})

test('a body is read before the turn is over: unread bodies are kept piece by piece', async () => {
  const api = serviceThat(() => undefined)
  let isAsked = false
  const body = (): Promise<Uint8Array> => {
    isAsked = true
    return Promise.resolve(Buffer.from('{}'))
  }
  const header = (name: string): string | null => (name === 'Content-Type' ? 'application/json' : null)
  const reply = api.dispatch({ method: 'POST', url: '/v4/oauth2/token', header, body })
  expect(isAsked).toBe(true)
  expect(await reply).toMatchObject({ status: 400 })
})

test('all bodies are read before the first is parsed', async () => {
  const seen: string[] = []
  const api = serviceThat(() => undefined)
  const decode = TextDecoder.prototype.decode
  vi.spyOn(TextDecoder.prototype, 'decode').mockImplementation(function decoded(
    this: TextDecoder,
    ...values
  ) {
    seen.push('parsed')
    return decode.apply(this, values)
  })
  const header = (name: string): string | null => (name === 'Content-Type' ? 'application/json' : null)
  async function body(): Promise<Uint8Array> {
    seen.push('taken in')
    return Buffer.from('{}')
  }
  await inOneTurn(2, async () => {
    const { status } = await api.dispatch({ method: 'POST', url: '/v4/oauth2/token', header, body })
    expect(status).toBe(400)
  })
  expect(seen).toEqual(['taken in', 'taken in', 'parsed', 'parsed'])
})
