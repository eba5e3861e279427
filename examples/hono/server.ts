// The five operations inside Hono: a Request in, a Response out.
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { getConnInfo } from '@hono/node-server/conninfo'
import { Hono } from 'hono'
import { createAdmin, createUtilityApi } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'

const storage = memoryStorage()
const api = createUtilityApi({ storage, basePath: '/api', logger: console })

const app = new Hono()
app.get('/', (context) => context.text('A page of our own.\n'))
app.all('/api/*', (context) => {
  const { address } = getConnInfo(context).remote
  return api.fetch(context.req.raw, address === undefined ? {} : { ip: address })
})

const port = Number(process.env['PORT'] ?? 3000)
const server = serve({ fetch: app.fetch, port, hostname: '127.0.0.1' }) as Server
if (!server.listening) await once(server, 'listening')
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
console.log(`Listening on ${url}`)

const { token } = await createAdmin({ storage }).createReseller({ name: 'Example Hosting' })
console.log(`curl -X POST ${url}/api/v2/reseller/licenses/generate -H 'Authorization: Bearer ${token}' \\
  -H 'X-Registered-To: Ada Lovelace' -H 'X-Domain-Or-IP: shop.example' -H 'X-Status: valid'`)

await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
server.close()
await api.close()
// Requests to your own pages have ten seconds. A connection that never sent one would stay open forever.
setTimeout(() => server.closeAllConnections(), 10_000).unref()
