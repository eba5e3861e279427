// A whole authorization code round: the operations, an authorization page of your own, and a client that uses both.
// Try it: npm start, then open the client's address in a browser.
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import Database from 'better-sqlite3'
import { createAdmin, createUtilityApi } from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import { sqliteStorage } from 'utility-api/storage/sqlite'
import { createAuthorizationPage } from './authorization-page.ts'
import { createClient } from './client.ts'

const database = new Database(process.env['DATABASE'] ?? ':memory:')
const storage = sqliteStorage(database)
await storage.migrate()
const admin = createAdmin({ storage })

const api = createUtilityApi({ storage, dns: { requiredScope: 'dns:check' } })
const operations = toNodeHandler(api)
const page = createAuthorizationPage(storage, admin)
const server = createServer((request, response) => {
  if (request.url?.startsWith('/authorize') === true) void page.handle(request, response)
  else operations(request, response)
})
const serverUrl = await listen(server, Number(process.env['PORT'] ?? 3000))
console.log(`Listening on ${serverUrl}`)

const clientServer = createServer()
const clientUrl = await listen(clientServer, Number(process.env['CLIENT_PORT'] ?? 3001))
const redirectUri = `${clientUrl}/callback`
const credentials = await admin.createClient({ name: 'Example client', redirectUris: [redirectUri] })
clientServer.on('request', createClient({ serverUrl, redirectUri, ...credentials }))
console.log(`Open ${clientUrl}/ in a browser`)

async function listen(toStart: Server, port: number): Promise<string> {
  await once(toStart.listen(port, '127.0.0.1'), 'listening')
  return `http://127.0.0.1:${(toStart.address() as AddressInfo).port}`
}

await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
server.close()
clientServer.close()
await api.close()
server.closeAllConnections()
clientServer.closeAllConnections()
database.close()
