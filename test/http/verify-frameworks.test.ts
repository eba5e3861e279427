/** A refusal thrown in a route is the right answer, by each framework's own error handling. */
import express5 from 'express'
// @ts-expect-error: the types of Express 5 serve for both
import express4Module from 'express4'
import fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { serve as honoServe } from '@hono/node-server'
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { bearerToken, createAdmin, createUtilityApi, type UtilityApi } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { afterEach, describe, expect, test, vi } from 'vitest'

const scope = 'orders:read'
const express4 = express4Module as typeof express5

async function listen(listener: RequestListener): Promise<Server> {
  const server = createServer(listener)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return server
}

/** The guard as people write it: verify, use the subject, and nothing about errors. */
const frameworks: Record<string, (api: UtilityApi) => Promise<Server>> = {
  // Express 4 does not see what an async handler rejects with.
  'Express 4': (api) =>
    listen(
      express4().get('/orders', (request, response, next) => {
        api
          .verifyAccessToken(bearerToken(request.headers.authorization), { scope })
          .then(({ subject }) => response.json({ subject }))
          .catch(next)
      }),
    ),
  'Express 5': (api) =>
    listen(
      // oxlint-disable-next-line no-async-endpoint-handlers -- Express 5 answers what it rejects with
      express5().get('/orders', async (request, response) => {
        const { subject } = await api.verifyAccessToken(bearerToken(request.headers.authorization), { scope })
        response.json({ subject })
      }),
    ),
  async Fastify(api) {
    const app = fastify()
    // oxlint-disable-next-line no-async-endpoint-handlers -- Fastify answers what it rejects with
    app.get('/orders', async (request) => {
      const { subject } = await api.verifyAccessToken(bearerToken(request.headers.authorization), { scope })
      return { subject }
    })
    await app.listen({ port: 0, host: '127.0.0.1', listenTextResolver: () => '' })
    return app.server
  },
  async Hono(api) {
    const app = new Hono().get('/orders', async (context) => {
      const { subject } = await api.verifyAccessToken(bearerToken(context.req.header('Authorization')), {
        scope,
      })
      return context.json({ subject })
    })
    const server = honoServe({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }) as Server
    if (!server.listening) await once(server, 'listening')
    return server
  },
  Koa: (api) =>
    listen(
      new Koa()
        .use(async (context) => {
          const { subject } = await api.verifyAccessToken(bearerToken(context.headers.authorization), {
            scope,
          })
          context.body = { subject }
        })
        .callback(),
    ),
}

afterEach(() => vi.restoreAllMocks())

describe.each(Object.entries(frameworks))('%s', (_, start) => {
  async function asked(
    credential: (token: string, weak: string) => string | undefined,
    prepare?: 'closed' | 'broken',
  ) {
    // Frameworks report what is a server's fault.
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const storage = memoryStorage()
    const admin = createAdmin({ storage })
    const findCredential = (): Promise<never> => Promise.reject(new Error('the driver’s secret'))
    const used = prepare === 'broken' ? { ...storage, findCredential } : storage
    const api = createUtilityApi({ storage: used, dns: false, blockgame: false })
    const { accessToken } = await admin.createAccessToken({ scope, subject: 'ada' })
    const { accessToken: weak } = await admin.createAccessToken({ scope: 'other' })
    if (prepare === 'closed') await api.close()
    const server = await start(api)
    const authorization = credential(`Bearer ${accessToken}`, `Bearer ${weak}`)
    const headers = authorization === undefined ? {} : { Authorization: authorization }
    const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/orders`, {
      headers,
    })
    const body = await answer.text()
    server.close()
    const { status } = answer
    const [challenge, retryAfter] = ['WWW-Authenticate', 'Retry-After'].map((name) =>
      answer.headers.get(name),
    )
    return { status, challenge, retryAfter, body }
  }

  test('a valid token is accepted, with its subject', async () => {
    expect(await asked((token) => token)).toMatchObject({
      status: 200,
      challenge: null,
      body: '{"subject":"ada"}',
    })
  })

  test('no credential: 401 with a bare challenge', async () => {
    expect(await asked(() => undefined)).toMatchObject({
      status: 401,
      challenge: 'Bearer realm="utility-api"',
    })
  })

  test('a wrong credential: 401 that says so', async () => {
    expect(await asked(() => 'Bearer wrong')).toMatchObject({
      status: 401,
      challenge: 'Bearer realm="utility-api", error="invalid_token"',
    })
  })

  test('too little scope: 403 that names it', async () => {
    expect(await asked((_token, weak) => weak)).toMatchObject({
      status: 403,
      challenge: `Bearer realm="utility-api", error="insufficient_scope", scope="${scope}"`,
    })
  })

  test('a closed service: 503 with Retry-After', async () => {
    expect(await asked((token) => token, 'closed')).toMatchObject({ status: 503, retryAfter: '1' })
  })

  test('a broken storage: 500 without details', async () => {
    const { status, challenge, body } = await asked((token) => token, 'broken')
    expect([status, challenge]).toEqual([500, null])
    // Express shows the stack of an error outside of production, of the error alone and not of its cause.
    expect(body).not.toContain('secret')
  })
})
