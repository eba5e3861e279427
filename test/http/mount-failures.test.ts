/** A mount answers, or the log says why it could not; the id of a request is the host's if it says where it is. */
import express from 'express'
import type { IncomingMessage, RequestListener } from 'node:http'
import { createUtilityApi, type Logger, type Reply, type UtilityApi } from 'utility-api'
import { toBunHandler } from 'utility-api/bun'
import { toExpressHandler } from 'utility-api/express'
import { toNodeHandler } from 'utility-api/node'
import { memoryStorage } from 'utility-api/storage/memory'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { listenNode, type Host } from './support/hosts.ts'
import { sendToPort } from './support/send.ts'
import { eventually } from '../support/eventually.ts'

const errors: [message: string, fields: object | undefined][] = []
const logger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error: (message, fields) => void errors.push([message, fields]),
}
const api = createUtilityApi({ storage: memoryStorage(), logger })
const hosts: Host[] = []
afterEach(async () => {
  errors.splice(0)
  await Promise.all(hosts.splice(0).map((host) => host.close()))
})

async function listen(listener: RequestListener): Promise<number> {
  const host = await listenNode(listener)
  hosts.push(host)
  return host.port
}

const patched = new Error('patched')
const check = { method: 'GET', path: '/v3/tools/dnscheck' }

test('the Node mount logs why an answer could not be written, with the id of the request', async () => {
  const handler = toNodeHandler(api)
  const port = await listen((request, response) => {
    response.writeHead = () => {
      throw patched
    }
    void handler(request, response)
  })
  await expect(sendToPort(port, { ...check, headers: { 'X-Request-Id': 'one' } })).rejects.toThrow(/hang up/)
  expect(errors).toEqual([['The answer could not be written.', { requestId: 'one', cause: patched }]])
})

describe.each<[string, (one: UtilityApi) => RequestListener]>([
  ['Node', (one) => toNodeHandler(one)],
  ['Express', (one) => express().use(toExpressHandler(one))],
])('%s', (_, mount) => {
  test('a response that breaks in the middle of a long answer costs one connection, and is told', async () => {
    const written = vi.fn()
    const body = new Uint8Array(8 * 1024 * 1024)
    const long: Reply = { status: 200, headers: {}, body, written }
    const listener = mount({ ...api, dispatch: async () => long })
    const port = await listen((request, response) => {
      const write = response.write.bind(response)
      let pieces = 0
      response.write = (chunk: unknown) => {
        pieces += 1
        // Only after it was told that there is room again.
        if (pieces > 1 && response.writableLength === 0) throw patched
        return write(chunk)
      }
      listener(request, response)
    })
    await expect(sendToPort(port, check)).rejects.toThrow()
    await eventually(() => expect(written).toHaveBeenCalledWith(patched))
  })
})

test('a request that cannot be read at all is answered with 500, and the log says why', async () => {
  const { promise, resolve } = Promise.withResolvers<number>()
  const response = { writeHead: resolve, end() {}, on() {} }
  await toNodeHandler(api)({ method: 'GET', url: check.path } as IncomingMessage, response as never)
  expect(await promise).toBe(500)
  expect(errors.map(([message]) => message)).toContain('Something went wrong.')
})

const own = { 'X-Correlation-Id': 'host-1', 'X-Request-Id': 'client-1' }
type Options = { requestId?: string | ((request: { method?: string | undefined }) => unknown) }
const fails = (): never => {
  throw patched
}
const fresh = /^[\w-]{36}$/

const ways: Readonly<Record<string, (options: Options) => Promise<string | null>>> = {
  Node: async (options) => idOf(await listen(toNodeHandler(api, options))),
  Express: async (options) => idOf(await listen(express().use(toExpressHandler(api, options)))),
  async Bun(options) {
    const request = new Request(`http://localhost${check.path}`, { headers: own })
    return (await toBunHandler(api, options)(request)).headers.get('X-Request-Id')
  },
}

async function idOf(port: number): Promise<string | null> {
  return (await sendToPort(port, { ...check, headers: own })).headers['x-request-id'] ?? null
}

describe.each(Object.entries(ways))('requestId of the mount for %s', (_, answered) => {
  test.each<[what: string, Options, id: string | RegExp]>([
    ['absent', {}, 'client-1'],
    ["a header's name", { requestId: 'x-correlation-id' }, 'host-1'],
    ['a header that was not sent', { requestId: 'X-Trace' }, fresh],
    ['a function', { requestId: ({ method }) => `id-${method}` }, 'id-GET'],
    ['a function that returns none', { requestId: () => undefined }, fresh],
    ['a function that returns what is not safe', { requestId: () => 'a\r\nb' }, fresh],
  ])('%s', async (_what, options, id) => {
    expect(await answered(options)).toMatch(id)
    expect(errors).toEqual([])
  })

  test.each([fails, async () => fails()])('%s fails: a new id, and the log says why', async (requestId) => {
    expect(await answered({ requestId })).toMatch(fresh)
    expect(errors).toEqual([['The request id could not be read.', { cause: patched }]])
  })
})
