// A server of another version of this package, as its users write one: `older-server.ts <its dist> <PostgreSQL URL> [<port>]`.
// Prints `Listening on <URL>`; for SIGTERM it drains as `serve` does. Says on standard error when it has made a license.
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { Pool } from 'pg'
import type * as Core from 'utility-api'
import type * as Node from 'utility-api/node'
import type * as Postgres from 'utility-api/storage/postgres'

const [dist = '', connectionString, port = '0'] = process.argv.slice(2)

async function load<Module>(name: string): Promise<Module> {
  return (await import(pathToFileURL(join(dist, name)).href)) as Module
}

const { createUtilityApi } = await load<typeof Core>('index.js')
const { toNodeHandler } = await load<typeof Node>('node.js')
const { postgresStorage } = await load<typeof Postgres>('storage/postgres.js')

const pool = new Pool({ connectionString })
const api = createUtilityApi({ storage: postgresStorage(pool), dns: false, blockgame: false })
const serve = toNodeHandler(api) as RequestListener
let draining = false

const server = createServer((request, response) => {
  if (draining) response.setHeader('Connection', 'close')
  if (request.url === '/health') {
    response.writeHead(draining ? 503 : 200).end()
    return
  }
  response.on('finish', () => {
    if (response.statusCode === 200) console.error('{"operation":"generateLicense","status":200}')
  })
  serve(request, response)
})
server.listen(Number(port), '127.0.0.1', () =>
  console.log(`Listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`),
)

process.on('SIGTERM', async () => {
  draining = true
  await wait(1000)
  server.close(async () => {
    await api.close()
    await pool.end()
    process.exit(0)
  })
  server.closeIdleConnections()
})
