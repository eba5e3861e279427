import { hash, randomUUID } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'
import { serve as serveHono } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { createUtilityApi, type UtilityApi } from 'utility-api'
import { toBunHandler } from 'utility-api/bun'
import { toExpressHandler } from 'utility-api/express'
import { toNodeHandler } from 'utility-api/node'
import { callWithin, type Credential } from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'
import { newLicense } from '../storage/support/license.ts'

export const token = 'uapi_rt_for_the_benchmark_0123456789_0123456789_0123'
export const licenseKey = 'BENCH-0001'

const reseller: Credential = {
  id: 'r1',
  ownerId: 'r1',
  subject: null,
  scope: '',
  createdAt: 0,
  expiresAt: null,
  revokedAt: null,
}
const license = newLicense(licenseKey, { resellerId: 'r1' })

/** Ours, on memory storage, with everything at its default. */
function ours(): UtilityApi {
  const storage = memoryStorage()
  const call = callWithin(Infinity)
  storage.insertReseller({ resellerId: reseller.ownerId, createdAt: 0 }, call)
  storage.insertCredential('reseller_token', hash('sha256', token, 'buffer'), reseller, call)
  storage.insertLicense(license, undefined, call)
  return createUtilityApi({ storage })
}

interface HandWrittenAnswer {
  readonly status: number
  readonly body: string
  readonly requestId: string
}

type GetHeader = (name: string) => string | undefined

/** The license update as one would write it for one server: the same checks and the same answer, and nothing around them. */
function handWritten(): (method: string, url: string, header: GetHeader) => HandWrittenAnswer {
  const credentials = new Map([[hash('sha256', token), reseller]])
  const licenses = new Map([[licenseKey, { ...license }]])
  const refuse = (status: number, error: string, requestId: string): HandWrittenAnswer => ({
    status,
    body: JSON.stringify({ error, message: error }),
    requestId,
  })

  return (method, url, header) => {
    const sentId = header('x-request-id')
    const requestId = sentId !== undefined && /^[\w.~:+/=-]{1,64}$/.test(sentId) ? sentId : randomUUID()
    const key = /^\/v2\/reseller\/([^/?#]+)\/update(?:\?|$)/.exec(url)?.[1]
    if (key === undefined) return refuse(404, 'not_found', requestId)
    if (method !== 'PUT') return refuse(405, 'method_not_allowed', requestId)
    const secret = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i.exec(header('authorization') ?? '')?.[1]
    const caller = secret === undefined ? undefined : credentials.get(hash('sha256', secret))
    if (caller === undefined || caller.revokedAt !== null) return refuse(401, 'invalid_token', requestId)
    const registeredTo = text(header('x-registered-to'))
    const domainOrIp = text(header('x-domain-or-ip'))
    const status = text(header('x-status'))
    const isBad =
      (registeredTo !== undefined && !isText(registeredTo)) ||
      (domainOrIp !== undefined && !(isText(domainOrIp) && isDomainOrIp(domainOrIp))) ||
      (status !== undefined && status !== 'valid' && status !== 'invalid') ||
      (registeredTo ?? domainOrIp ?? status) === undefined
    if (isBad) return refuse(400, 'invalid_request', requestId)
    const found = licenses.get(decodeURIComponent(key))
    if (found === undefined) return refuse(404, 'license_not_found', requestId)
    if (found.resellerId !== caller.ownerId) return refuse(401, 'license_owner_mismatch', requestId)
    licenses.set(found.licenseKey, {
      ...found,
      registeredTo: registeredTo ?? found.registeredTo,
      domainOrIp: domainOrIp ?? found.domainOrIp,
      status: status ?? found.status,
      updatedAt: Date.now(),
    })
    return { status: 200, body: JSON.stringify({ message: 'License updated.' }), requestId }
  }
}

function isText(value: string): boolean {
  if (/[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u.test(value)) return false
  let count = 0
  for (const _ of value) count += 1
  return count <= 255
}

function isDomainOrIp(value: string): boolean {
  if (isIP(value) !== 0) return true
  const name = domainToASCII(value)
  return (
    name.length <= 253 &&
    name.split('.').every((label) => /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(label)) &&
    !/(?:^|\.)\d+$/.test(name)
  )
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true })

function text(value: string | undefined): string | undefined {
  if (value === undefined) return undefined
  if (!/[\x80-\xff]/.test(value)) return value.trim() || undefined
  try {
    return strictUtf8.decode(Buffer.from(value, 'latin1')).trim()
  } catch {
    return value.trim()
  }
}

function headersOf({ body, requestId }: HandWrittenAnswer): Record<string, string> {
  return {
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
    'X-Request-Id': requestId,
    ...fixedHeaders,
  }
}

/** What every answer of ours has as well. */
const fixedHeaders = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' }

function onNode(): Server {
  const work = handWritten()
  return createServer((request, response) => {
    const { headers } = request
    const answer = work(
      request.method ?? '',
      request.url ?? '',
      (name) => headers[name] as string | undefined,
    )
    response.writeHead(answer.status, headersOf(answer)).end(answer.body)
  })
}

function onExpress(): Server {
  const work = handWritten()
  const app = express().disable('x-powered-by').disable('etag')
  app.put('/v2/reseller/:key/update', (request, response) => {
    const answer = work(request.method, request.url, (name) => request.get(name))
    response.status(answer.status).set(headersOf(answer)).send(answer.body)
  })
  return createServer(app)
}

function onFastify(): Server {
  const work = handWritten()
  const app = fastify()
  app.put('/v2/reseller/:key/update', (request, reply) => {
    const answer = work(request.method, request.url, (name) => request.headers[name] as string | undefined)
    return reply.code(answer.status).headers(headersOf(answer)).send(answer.body)
  })
  void app.ready()
  return app.server
}

function honoApp(): Hono {
  const work = handWritten()
  const app = new Hono()
  app.put('/v2/reseller/:key/update', (context) => {
    const answer = work('PUT', context.req.path, (name) => context.req.header(name))
    return context.body(answer.body, answer.status as 200, headersOf(answer))
  })
  return app
}

/** The same with one `await`, as every handler has one that asks a database: Bun answers a promise more slowly. */
function awaitingHonoApp(): Hono {
  const work = handWritten()
  const app = new Hono()
  app.put('/v2/reseller/:key/update', async (context) => {
    await undefined
    const answer = work('PUT', context.req.path, (name) => context.req.header(name))
    return context.body(answer.body, answer.status as 200, headersOf(answer))
  })
  return app
}

const onHono = (): Server => serveHono({ fetch: honoApp().fetch, port: 0, hostname: '127.0.0.1' }) as Server

/** As a server on Bun does it: the path cut out of the URL, no router. */
function bunFetch(): (request: Request) => Response {
  const work = handWritten()
  return (request) => {
    const path = request.url.slice(request.url.indexOf('/', 'http://'.length))
    const answer = work(request.method, path, (name) => request.headers.get(name) ?? undefined)
    return new Response(answer.body, { status: answer.status, headers: headersOf(answer) })
  }
}

interface BunServe {
  serve(options: object): { port: number }
}

function serveOnBun(fetch: unknown): number {
  const { Bun } = globalThis as unknown as { Bun: BunServe }
  return Bun.serve({ port: 0, hostname: '127.0.0.1', fetch }).port
}

/** Each makes a server, or says the port of one that listens. The first is what the others are compared with. */
export const subjects: Readonly<Record<string, () => Server | number>> = {
  'utility-api on Node': () => createServer(toNodeHandler(ours())),
  'node:http by hand': onNode,
  'Hono by hand': onHono,
  'Fastify by hand': onFastify,
  'utility-api on Express 5': () =>
    createServer(express().disable('x-powered-by').disable('etag').use(toExpressHandler(ours()))),
  'Express 5 by hand': onExpress,
  'utility-api on Bun': () => serveOnBun(toBunHandler(ours())),
  'Bun.serve by hand, on Bun': () => serveOnBun(bunFetch()),
  'Hono by hand, on Bun': () => serveOnBun(honoApp().fetch),
  'Hono by hand with an await, on Bun': () => serveOnBun(awaitingHonoApp().fetch),
}
