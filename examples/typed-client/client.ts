// A client whose types are generated from the OpenAPI document, run against a real listener with loopback DNS and game
// servers.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdmin, createUtilityApi } from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import { memoryStorage } from 'utility-api/storage/memory'
import { fakeBlockgameServer, fakeDnsServer } from 'utility-api/testing'
import { performAll } from './operations.ts'

const storage = memoryStorage()
const dns = await fakeDnsServer({
  records: [{ type: 'A', host: 'shop.example', ttl: 300, ip: '203.0.113.20' }],
})
const game = await fakeBlockgameServer({ status: { players: { online: 12, max: 100 } } })
const api = createUtilityApi({
  storage,
  dns: { locations: [{ location: 'Here', ip: dns.ip, port: dns.port, provider: 'Loopback' }] },
  blockgame: { allowAddress: ({ ip, port }) => ip === game.ip && port === game.port },
})
const server = createServer(toNodeHandler(api)).listen(0, '127.0.0.1')
await once(server, 'listening')

const admin = createAdmin({ storage })
const redirectUri = 'https://shop.example/callback'
const { clientId, clientSecret } = await admin.createClient({ redirectUris: [redirectUri] })
const { code } = await admin.issueAuthorizationCode({ clientId, redirectUri, scope: 'dns:check' })
const { token: resellerToken } = await admin.createReseller()
const { apiKey } = await admin.createApiKey()

const { port } = server.address() as AddressInfo
const credentials = { clientId, clientSecret, code, redirectUri, resellerToken, apiKey, server: game }
const url = `http://127.0.0.1:${port}`
console.log(JSON.stringify(await performAll(url, credentials), null, 2))
console.log(`
Asked ${url}, which is gone again. Now spell a header wrong in operations.ts, and ask the compiler: npm run check`)

server.close()
server.closeAllConnections()
await api.close()
await Promise.all([dns.close(), game.close()])
