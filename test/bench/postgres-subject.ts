// One server of the PostgreSQL benchmark in a process of its own: `node postgres-subject.ts <name> <url>`.
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Pool } from 'pg'
import { createUtilityApi } from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import { postgresStorage } from 'utility-api/storage/postgres'
import { reportToParent } from './http-load.ts'
import { postgresByHand } from './postgres-hand.ts'
import { byHand } from './storage-by-hand.ts'

const [name, connectionString] = process.argv.slice(2)
const pool = new Pool({ connectionString, max: 10 })
// The database may end before this process.
pool.on('error', () => {})

function library(): Server {
  const api = createUtilityApi({ storage: postgresStorage(pool), dns: false, blockgame: false })
  return createServer(toNodeHandler(api))
}

const server = name === 'utility-api' ? library() : byHand(postgresByHand(pool))
await once(server.listen(0, '127.0.0.1'), 'listening')
reportToParent((server.address() as AddressInfo).port)
