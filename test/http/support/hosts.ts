/** The servers that people mount the operations in, as they write them. */
import { serve as honoServe } from '@hono/node-server'
import express5 from 'express'
// @ts-expect-error: the types of Express 5 serve for both
import express4Module from 'express4'
import fastify from 'fastify'
import { Hono } from 'hono'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import type { AddressInfo } from 'node:net'
import type { UtilityApi } from 'utility-api'
import { toExpressHandler, type ExpressMountOptions } from 'utility-api/express'
import { toNodeHandler, type NodeHandler } from 'utility-api/node'

/** A server that listens. */
export interface Host {
  readonly port: number
  /** The path before the contract's own paths. */
  readonly prefix: string
  close(): Promise<void>
}

const express4 = express4Module as typeof express5
export const expresses: Readonly<Record<string, typeof express5>> = {
  'Express 4': express4,
  'Express 5': express5,
}

type Express = typeof express5

export function listenNode(listener: RequestListener, prefix = ''): Promise<Host> {
  return hostOf(createServer(listener).listen(0, '127.0.0.1'), prefix)
}

export function onNode(api: UtilityApi): Promise<Host> {
  return listenNode(toNodeHandler(api))
}

/** HTTP/2 without TLS, through the compatibility interface. */
export async function listenHttp2(listener: NodeHandler): Promise<Host> {
  const server = createHttp2Server({}, listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    prefix: '',
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

export function onHttp2(api: UtilityApi): Promise<Host> {
  return listenHttp2(toNodeHandler(api))
}

export function onExpress(express: Express, api: UtilityApi, options?: ExpressMountOptions): Promise<Host> {
  return listenNode(express().use(toExpressHandler(api, options)))
}

export function onExpressAfterParsers(express: Express, api: UtilityApi): Promise<Host> {
  const app = express()
  app.use(express.json(), express.urlencoded({ extended: false }), toExpressHandler(api))
  return listenNode(app)
}

export function onExpressRouter(express: Express, api: UtilityApi): Promise<Host> {
  const router = express.Router()
  router.use('/inner', toExpressHandler(api))
  return listenNode(express().use('/outer', router), '/outer/inner')
}

/** Fastify's first hook takes the request over, before Fastify looks for a content type it knows. */
export async function onFastify(api: UtilityApi): Promise<Host> {
  const app = fastify()
  const handler = toNodeHandler(api)
  app.addHook('onRequest', async (request, reply) => {
    reply.hijack()
    handler(request.raw, reply.raw)
  })
  app.all('/*', () => {})
  await app.listen({ port: 0, host: '127.0.0.1', listenTextResolver: () => '' })
  return {
    port: (app.server.address() as AddressInfo).port,
    prefix: '',
    close() {
      app.server.closeAllConnections()
      return app.close()
    },
  }
}

export function onHono(api: UtilityApi): Promise<Host> {
  const app = new Hono()
  app.all('*', (context) => api.fetch(context.req.raw))
  return hostOf(honoServe({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }) as Server)
}

async function hostOf(server: Server, prefix = ''): Promise<Host> {
  if (!server.listening) await new Promise((resolve) => server.once('listening', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    prefix,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}
