// Only the game server lookup, at a path of the host's own and with the host's own API keys.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createUtilityApi, isPublicAddress } from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import type { UtilityStorage } from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'

/** The host's keys by their hash. In real life these stand in the host's own table. */
const apiKey = process.env['API_KEY'] ?? 'a-key-of-ours'
const keys = new Map([[sha256(apiKey), 'status-page']])

// This operation asks its storage one thing, so one method is all that must be the host's.
const storage: UtilityStorage = {
  ...memoryStorage(),
  findCredential(kind, hash) {
    const ownerId = keys.get(Buffer.from(hash).toString('hex'))
    if (kind !== 'api_key' || ownerId === undefined) return null
    const ownKey = { id: ownerId, ownerId, subject: null, scope: 'blockgame:lookup', createdAt: 0 }
    return { ...ownKey, expiresAt: null, revokedAt: null }
  },
}

// Only public addresses may be asked, and beside them one server in the host's own network.
const ownServer = process.env['OWN_SERVER']
const api = createUtilityApi({
  storage,
  dns: false,
  blockgame: {
    cacheTtlMs: 10_000,
    allowAddress: ({ ip, port }) => `${ip}:${port}` === ownServer || (isPublicAddress(ip) && port >= 1024),
  },
})

const operations = toNodeHandler(api)
const server = createServer((request, response) => {
  if (request.url !== '/server-status') {
    response.writeHead(404).end('Not here.\n')
    return
  }
  // The path that the operation has in the library.
  request.url = '/v4/games/blockgame/lookup'
  operations(request, response)
}).listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1')
await once(server, 'listening')
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/server-status`
console.log(`Listening on ${url}`)
console.log(`curl ${url} -H 'Basic: ${apiKey}' -H 'X-Address: ${ownServer ?? 'play.example.com'}'`)

await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
server.close()
await api.close()
// Requests to your own pages have ten seconds. A connection that never sent one would stay open forever.
setTimeout(() => server.closeAllConnections(), 10_000).unref()

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
