// The operations on a single MariaDB, beside a node of a Galera cluster of three and beside `mysql2` by hand:
// `npm run bench -- galera`.
// ROUNDS and ROUND_MS change how long, CONNECTIONS how many (default: 32). Needs Debian's mariadb-server, galera-4 and rsync.
import { hash } from 'node:crypto'
import { createAdmin } from 'utility-api'
import { mysqlStorage } from 'utility-api/storage/mysql'
import { redirectUri } from '../faults/failover/world.ts'
import { startGalera, whyNoGalera } from '../storage/support/galera.ts'
import { execute, makePool, startMysql } from '../storage/support/mysql-server.ts'
import { forkServer, measureServers, printResults, type ServerUnderLoad } from './http-load.ts'
import { callers, licenseCount, operations, verify } from './storage-requests.ts'

const options = {
  connections: Number(process.env['CONNECTIONS'] ?? 32),
  rounds: Number(process.env['ROUNDS'] ?? 5),
  roundMs: Number(process.env['ROUND_MS'] ?? 2000),
}
const codeCount = Number(process.env['CODES'] ?? 260_000)
const byHand = 'a single MariaDB, mysql2 by hand'
const clientSecret = 'the-secret-of-every-client-of-this-benchmark'
const secretHash = hash('sha256', clientSecret)
const soon = Date.now() + 3_600_000

/** Fills the tables that a migration made. MariaDB has a table of numbers for each range. */
const rows = [
  `INSERT INTO utility_api_clients (client_id, secret_hashes, redirect_uris, created_at)
   SELECT CONCAT('client-', seq), UNHEX('${secretHash}'), redirect_uris, 1
   FROM seq_0_to_${callers - 1}, (SELECT redirect_uris FROM utility_api_clients) AS made`,
  `INSERT INTO utility_api_codes (hash, client_id, redirect_uri, scope, expires_at)
   SELECT UNHEX(SHA2(CONCAT('code-', LPAD(seq, 10, '0')), 256)), CONCAT('client-', seq MOD ${callers}),
     '${redirectUri}', 'dns:check', ${soon} FROM seq_0_to_${codeCount - 1}`,
  ...[
    ['reseller_token', 'token-', 'reseller-', 'NULL'],
    ['access_token', 'access-', 'client-', String(soon)],
  ].map(
    ([kind, name, owner, end]) =>
      `INSERT INTO utility_api_credentials (id, kind, hash, owner_id, scope, created_at, expires_at)
       SELECT CONCAT('${name}', seq), '${kind}', UNHEX(SHA2(CONCAT('${name}', seq), 256)), CONCAT('${owner}', seq),
         'dns:check', 1, ${end} FROM seq_0_to_${callers - 1}`,
  ),
  `INSERT INTO utility_api_licenses
     (license_key, registered_to, domain_or_ip, compared_domain, status, reseller_id, created_at, updated_at)
   SELECT CONCAT('bench-', seq), 'Ada', 'shop.example.com', 'shop.example.com', 'valid', CONCAT('reseller-', seq MOD ${callers}), 1, 1
   FROM seq_0_to_${licenseCount - 1}`,
]

async function prepare(url: string): Promise<void> {
  const pool = makePool(url)
  const storage = mysqlStorage(pool)
  await storage.migrate()
  await createAdmin({ storage }).createClient({ redirectUris: [redirectUri] })
  await pool.end()
  // oxlint-disable-next-line no-await-in-loop -- one after the other
  for (const statement of rows) await execute(url, statement)
}

/** The rows reach the other nodes later, which hold up whoever writes meanwhile. A node gives up waiting after 5 s. */
async function untilApplied(url: string, attempt = 1): Promise<void> {
  const whenApplied =
    'SET STATEMENT wsrep_sync_wait = 1 FOR SELECT count(*) AS count FROM utility_api_licenses'
  try {
    await execute(url, whenApplied)
  } catch (error) {
    const isBehind = (error as { errno?: number }).errno === 1205
    if (!isBehind || attempt === 24) throw error
    await untilApplied(url, attempt + 1)
  }
}

const reason = whyNoGalera()
if (reason !== null) throw new Error(reason)
process.on('SIGINT', () => process.exit(130))

const single = await startMysql()
// Each node waits for its disk at each commit, as the single server does.
const cluster = await startGalera()
try {
  const [alone, node] = [await single.createDatabase(), cluster.nodes[0]?.url ?? '']
  await Promise.all([alone, node].map(prepare))
  await Promise.all(cluster.nodes.map(({ url }) => untilApplied(url)))
  const subjects = [
    ['a single MariaDB', alone, 'waits'],
    ['a node of three', node, 'waits'],
    ['a node of three, without wsrep_sync_wait', node, 'does not wait'],
    [byHand, alone, 'by hand'],
  ] as const
  console.log('All servers run on this machine, and each waits for the disk at each commit.\n')
  const share = Math.floor(codeCount / subjects.length)
  for (const [operation, make] of Object.entries({ ...operations, verify })) {
    const servers: ServerUnderLoad[] = []
    for (const [name, url, how] of subjects) {
      if (name === byHand && operation === 'verify') continue
      const { child, port } = await forkServer(new URL('galera-subject.ts', import.meta.url), [url, how])
      const first = servers.length * share
      const requests = Array.from({ length: share }, (_, index) => make(port, clientSecret, first + index))
      servers.push({ name, port, child, requests })
    }
    const results = await measureServers(servers, options)
    printResults(`${operation}, ${options.connections} connections`, results)
    for (const { child } of servers) child.disconnect()
  }
} finally {
  await Promise.all([single.stop(), cluster.stop()])
}
