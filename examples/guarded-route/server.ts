// Routes of your own behind the tokens that the token endpoint issues: in Express, and in Hono.
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { createAdmin, createUtilityApi } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { expressApp } from './express.ts'
import { honoApp } from './hono.ts'

const storage = memoryStorage()
const api = createUtilityApi({ storage })

const port = Number(process.env['PORT'] ?? 3000)
const hono = serve({ fetch: honoApp(api).fetch, port: port && port + 1, hostname: '127.0.0.1' }) as Server
const express = expressApp(api).listen(port, '127.0.0.1')
const [expressUrl, honoUrl] = await Promise.all([urlOf(express), urlOf(hono)])
console.log(`Listening on ${expressUrl}, and with Hono on ${honoUrl}`)

const admin = createAdmin({ storage })
const ada = await admin.createAccessToken({ scope: 'orders:read', subject: 'ada' })
const other = await admin.createAccessToken({ scope: 'profile', subject: 'grace' })
console.log(`
Ada's orders:          curl -i ${expressUrl}/orders -H 'Authorization: Bearer ${ada.accessToken}'
The same from Hono:    curl -i ${honoUrl}/orders -H 'Authorization: Bearer ${ada.accessToken}'
Another scope, 403:    curl -i ${expressUrl}/orders -H 'Authorization: Bearer ${other.accessToken}'
No credential, 401:    curl -i ${honoUrl}/orders`)

await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
express.close()
hono.close()
await api.close()
// Requests to your own pages have ten seconds. A connection that never sent one would stay open forever.
setTimeout(() => express.closeAllConnections(), 10_000).unref()
setTimeout(() => hono.closeAllConnections(), 10_000).unref()

async function urlOf(server: Server): Promise<string> {
  if (!server.listening) await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
