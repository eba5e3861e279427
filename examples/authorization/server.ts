// A whole authorization code round: the operations, an authorization page of your own, a route of your own that the token
// opens, and two clients that use them: a web site and a program on the user's machine.
// Try it: npm start, then open the client's address in a browser, or start the program as it says.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import Database from 'better-sqlite3'
import { bearerToken, createAdmin, createUtilityApi, type UtilityApiError } from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import { sqliteStorage } from 'utility-api/storage/sqlite'
import { createAuthorizationPage, scopeNames } from './authorization-page.ts'
import { createClient } from './client.ts'

const database = new Database(process.env['DATABASE'] ?? ':memory:')
const storage = sqliteStorage(database)
await storage.migrate()

const server = createServer()
const serverUrl = await listen(server, Number(process.env['PORT'] ?? 3000))
// Clients know the server by this name. Behind TLS it is your public address.
const admin = createAdmin({ storage, oauth: { issuer: serverUrl } })

const api = createUtilityApi({ storage, dns: { requiredScope: 'dns:check' } })
const operations = toNodeHandler(api)
// Who is signed in is for your own session to say; here it is always the same person.
const page = createAuthorizationPage(admin, () => 'ada')
// Clients find both endpoints by this document (RFC 8414).
const metadata = admin.authorizationServerMetadata({
  authorizationEndpoint: `${serverUrl}/authorize`,
  tokenEndpoint: `${serverUrl}/v4/oauth2/token`,
  scopes: scopeNames,
  publicClients: true,
})
server.on('request', (request: IncomingMessage, response: ServerResponse) => {
  const [path] = request.url?.split('?') ?? []
  if (path === '/authorize') page(request, response).catch(() => response.writeHead(500).end())
  else if (path === '/me') void me(request, response)
  else if (path === '/.well-known/oauth-authorization-server')
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify(metadata))
  else operations(request, response)
})

/** A route of your own: whoever the user was that agreed comes back with the token. */
async function me(request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const token = bearerToken(request.headers.authorization)
    const { subject } = await api.verifyAccessToken(token, { scope: 'profile' })
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ name: subject }))
  } catch (error) {
    const { status, headers, message } = error as UtilityApiError
    response.writeHead(status, headers).end(JSON.stringify({ error: message }))
  }
}

console.log(`Listening on ${serverUrl}`)

const clientServer = createServer()
const clientUrl = await listen(clientServer, Number(process.env['CLIENT_PORT'] ?? 3001))
const redirectUri = `${clientUrl}/callback`
const credentials = await admin.createClient({ name: 'Example client', redirectUris: [redirectUri] })
clientServer.on('request', createClient({ serverUrl, redirectUri, ...credentials }))
// A program can keep no secret, and gets its port from the system: on 127.0.0.1, any port may be asked for.
const program = await admin.createClient({
  name: 'Example program',
  clientType: 'public',
  // The second is for programs that ask without a path, such as git-credential-oauth.
  redirectUris: ['http://127.0.0.1/callback', 'http://127.0.0.1'],
})
console.log(`Program: node program.ts ${serverUrl} ${program.clientId}`)
console.log(`Open ${clientUrl}/ in a browser and agree; the client then shows whose name its token opens.
Without a token: curl -i ${serverUrl}/me`)

async function listen(toStart: Server, port: number): Promise<string> {
  await once(toStart.listen(port, '127.0.0.1'), 'listening')
  return `http://127.0.0.1:${(toStart.address() as AddressInfo).port}`
}

await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
server.close()
clientServer.close()
await api.close()
// Requests to your own pages have ten seconds. A connection that never sent one would stay open forever.
setTimeout(() => server.closeAllConnections(), 10_000).unref()
setTimeout(() => clientServer.closeAllConnections(), 10_000).unref()
database.close()
