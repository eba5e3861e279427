// A server under test in a process of its own: `server.ts <URL> <milliseconds of storage> <trusting?>`. Sends its port, and
// for every message the longest stall of its event loop since the last one.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Pool, type PoolClient } from 'pg'
import { bearerToken, createUtilityApi } from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import { postgresStorage } from 'utility-api/storage/postgres'
import { watchStalls } from './stalls.ts'

const [connectionString = '', timeoutText = '', sabotage] = process.argv.slice(2)
const storageTimeoutMs = Number(timeoutText)

const pool = new Pool({ connectionString, max: 10, connectionTimeoutMillis: storageTimeoutMs * 0.4 })
// A storage that hears no notices believes every success.
if (sabotage === 'trusting') pool.on('connect', deafen)

function deafen(client: PoolClient): void {
  const emit = client.emit.bind(client)
  client.emit = (event: string | symbol, ...values: unknown[]) => event === 'notice' || emit(event, ...values)
}

const api = createUtilityApi({
  storage: postgresStorage(pool),
  storageTimeoutMs,
  // Twenty ask for every code, and the nineteen that lose must not revoke what the first has bought.
  oauth: { onReplay: 'deny' },
  dns: false,
  blockgame: false,
})
const serve = toNodeHandler(api)

const server = createServer(async (request, response) => {
  if (request.url === '/health') {
    const { storage } = await api.health()
    return response.writeHead(storage === 'ok' ? 200 : 503).end('{}')
  }
  if (request.url !== '/read') return serve(request, response)
  try {
    await api.verifyResellerToken(bearerToken(request.headers.authorization))
    return response.writeHead(200).end('{}')
  } catch {
    return response.writeHead(500).end('{}')
  }
})
// Or it closes a connection in the moment in which a client sends on it.
server.keepAliveTimeout = 600_000
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
const stalls = watchStalls()
process.on('message', () => {
  process.send?.(stalls.longestMs())
  stalls.reset()
})
process.on('disconnect', () => process.exit())
