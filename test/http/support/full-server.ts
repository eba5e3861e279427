// A guarded server in a process of its own, which others fill: `node --import test/support/sources.ts
// test/http/support/full-server.ts <host>`. Prints its port. Ends with its input.
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createHttp2, createSecureServer } from 'node:http2'
import { createServer as createHttps } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createUtilityApi } from 'utility-api'
import { guardConnections, toNodeHandler } from 'utility-api/node'
import { memoryStorage } from 'utility-api/storage/memory'
import { anonymous } from './crowd.ts'

const api = createUtilityApi({ storage: memoryStorage() })
const mount = toNodeHandler(api)

const hosts: Readonly<Record<string, () => object | Promise<object>>> = {
  Node: () => createServer(mount),
  async Express() {
    const [{ default: express }, { toExpressHandler }] = await Promise.all([
      import('express'),
      import('utility-api/express'),
    ])
    return createServer(express().use(toExpressHandler(api)))
  },
  async Hono() {
    const { createAdaptorServer } = await import('@hono/node-server')
    return createAdaptorServer({ fetch: (request) => api.fetch(request) })
  },
  https: () => createHttps(anonymous, mount as RequestListener),
  http2: () => createHttp2(mount),
  'http2 over TLS': () => createSecureServer(anonymous, mount),
  async serve() {
    const { createService } = await import('../../../adapters/cli/serving/http-service.ts')
    return createService(api, { prefix: '', trustProxy: 0, openapi: true }).server
  },
}

const host = process.argv[2] ?? ''
const server = (await hosts[host]?.()) as Server
if (host !== 'serve') guardConnections(server)
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
process.stdin.on('end', () => process.exit()).resume()
