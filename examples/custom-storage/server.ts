import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdmin, createUtilityApi } from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import { journalStorage } from './storage.ts'

const storage = await journalStorage(process.env['JOURNAL'] ?? 'journal.jsonl')
const api = createUtilityApi({ storage })
const { token } = await createAdmin({ storage }).createReseller()

const server = createServer(toNodeHandler(api)).listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1')
await once(server, 'listening')
const { port } = server.address() as AddressInfo
console.log(`Listening on http://127.0.0.1:${port}, reseller token ${token}`)

await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
server.close()
await api.close()
server.closeAllConnections()
await storage.close?.()
