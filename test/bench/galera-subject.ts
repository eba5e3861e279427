// One server of the Galera benchmark in a process of its own: `node galera-subject.ts <url> <waits|does not wait|by hand>`.
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createPool } from 'mysql2/promise'
import { createUtilityApi } from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import { mysqlStorage } from 'utility-api/storage/mysql'
import { reportToParent } from './http-load.ts'
import { mysqlByHand } from './mysql-hand.ts'
import { byHand } from './storage-by-hand.ts'

const [uri = '', how] = process.argv.slice(2)
const pool = createPool({ uri, connectionLimit: 10 })
if (how === 'does not wait') {
  const connect = pool.getConnection.bind(pool)
  pool.getConnection = async () => {
    const connection = await connect()
    const query = connection.query.bind(connection) as (text: string) => ReturnType<typeof connection.query>
    const unwaiting = (text: string): ReturnType<typeof query> =>
      query(text.replace('wsrep_sync_wait = 7', 'wsrep_sync_wait = 0'))
    return Object.assign(connection, { query: unwaiting })
  }
}
function library(): Server {
  const api = createUtilityApi({ storage: mysqlStorage(pool), dns: false, blockgame: false })
  const handle = toNodeHandler(api)
  return createServer((request, response) => {
    if (request.url !== '/verify') return void handle(request, response)
    const token = request.headers.authorization?.slice('Bearer '.length) ?? ''
    api.verifyAccessToken(token, { scope: 'dns:check' }).then(
      () => response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}'),
      () => response.writeHead(401).end('{}'),
    )
  })
}

const server = how === 'by hand' ? byHand(mysqlByHand(pool)) : library()
await once(server.listen(0, '127.0.0.1'), 'listening')
reportToParent((server.address() as AddressInfo).port)
