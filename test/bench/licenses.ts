// Licenses generated per second, side by side: `npx tsup && node test/bench/licenses.ts`.
// Needs `npm ci` in test/peers. ROUNDS and ROUND_MS change how long.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createAdmin } from 'utility-api'
import { sqliteStorage } from 'utility-api/storage/sqlite'
import { forkServer, measureServers, printResults, type ServerUnderLoad } from './http-load.ts'
import { subjects } from './licenses-subjects.ts'

const options = {
  connections: 32,
  rounds: Number(process.env['ROUNDS'] ?? 7),
  roundMs: Number(process.env['ROUND_MS'] ?? 3000),
}

async function start(name: string, path: string): Promise<ServerUnderLoad> {
  const database = new DatabaseSync(path)
  const storage = sqliteStorage(database)
  await storage.migrate()
  const { token } = await createAdmin({ storage }).createReseller()
  database.close()
  const { child, port } = await forkServer(new URL('licenses-subject.ts', import.meta.url), [name, path])
  const headers = {
    Host: `127.0.0.1:${port}`,
    Authorization: `Bearer ${token}`,
    'X-Registered-To': 'Ada Lovelace',
    'X-Domain-Or-IP': 'shop.example.com',
    'X-Status': 'valid',
    'Content-Length': 0,
  }
  const lines = Object.entries(headers).map(([header, value]) => `${header}: ${value}\r\n`)
  const request = `POST /v2/reseller/licenses/generate HTTP/1.1\r\n${lines.join('')}\r\n`
  return { name, port, child, requests: [request] }
}

const directory = mkdtempSync(join(tmpdir(), 'utility-api-bench-'))
const servers: ServerUnderLoad[] = []
for (const [index, name] of Object.keys(subjects).entries()) {
  servers.push(await start(name, join(directory, `${index}.sqlite`)))
}
const { connections, rounds, roundMs } = options
printResults(
  `Licenses generated, ${connections} connections, ${rounds} rounds of ${roundMs} ms: medians.`,
  await measureServers(servers, options),
)
for (const { child } of servers) child.disconnect()
rmSync(directory, { recursive: true })
