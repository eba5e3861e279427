// The three operations on PostgreSQL beside `pg` by hand, with and without a quorum of standbys: `npm run bench -- postgres`.
// ROUNDS and ROUND_MS change how long, CONNECTIONS how many (default: 32). BEFORE names the folder of another checkout, built,
// whose library is measured beside this one. Needs a PostgreSQL that can be started here.
import { pathToFileURL } from 'node:url'
import { Client } from 'pg'
import { findBinaries } from '../faults/failover/binaries.ts'
import { makeDirectory, prepareTemplate, startCluster } from '../faults/failover/cluster.ts'
import { createWorld, redirectUri, type World } from '../faults/failover/world.ts'
import { forkServer, measureServers, printResults, type ServerUnderLoad } from './http-load.ts'
import { callers, licenseCount, operations } from './storage-requests.ts'

const options = {
  connections: Number(process.env['CONNECTIONS'] ?? 32),
  rounds: Number(process.env['ROUNDS'] ?? 7),
  roundMs: Number(process.env['ROUND_MS'] ?? 2000),
}
const { BEFORE } = process.env
const byHand = 'pg by hand'
const starter = new URL('postgres-subject.ts', import.meta.url)
const starters: Readonly<Record<string, URL>> = {
  'utility-api': starter,
  [byHand]: starter,
  ...(BEFORE === undefined ? {} : { before: pathToFileURL(`${BEFORE}/test/bench/postgres-subject.ts`) }),
}
const codeCount = Number(process.env['CODES'] ?? 400_000)

const insertClients = `
  INSERT INTO utility_api_clients (client_id, secret_hashes, redirect_uris, created_at)
  SELECT 'client-' || number, secret_hashes, redirect_uris, 1
  FROM utility_api_clients, generate_series(0, ${callers - 1}) AS number`

const insertCodes = `
  INSERT INTO utility_api_codes (hash, client_id, redirect_uri, scope, expires_at)
  SELECT sha256(('code-' || lpad(number::text, 10, '0'))::bytea), 'client-' || number % ${callers}, $1, 'dns:check', $2
  FROM generate_series(0, $3::integer - 1) AS number`

const insertTokens = `
  INSERT INTO utility_api_credentials (id, kind, hash, owner_id, scope, created_at)
  SELECT 'token-' || number, 'reseller_token', sha256(('token-' || number)::bytea), 'reseller-' || number, '', 1
  FROM generate_series(0, ${callers - 1}) AS number`

const insertLicenses = `
  INSERT INTO utility_api_licenses
    (license_key, registered_to, domain_or_ip, compared_domain, status, reseller_id, created_at, updated_at)
  SELECT 'bench-' || number, 'Ada', 'shop.example.com', 'shop.example.com', 'valid', 'reseller-' || number % ${callers}, 1, 1
  FROM generate_series(0, ${licenseCount - 1}) AS number`

// Each server has codes of its own.
const share = Math.floor(codeCount / Object.keys(starters).length)

let world: World | undefined

function worldOf(): World {
  if (world === undefined) throw new Error('The database was not prepared.')
  return world
}

async function prepare(url: string): Promise<void> {
  world = await createWorld(url, 0, 1)
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(insertClients)
  await client.query(insertCodes, [redirectUri, Date.now() + 3_600_000, codeCount])
  await client.query(insertTokens)
  await client.query(insertLicenses)
  await client.end()
}

const binaries = await findBinaries()
if (binaries === null) throw new Error('There is no PostgreSQL here, or no user "postgres" to run it.')
const directory = makeDirectory(binaries)
const template = await prepareTemplate(binaries, directory, prepare)
process.on('SIGINT', () => process.exit(130))

for (const [title, settings] of [
  ['its own disk', { synchronous_standby_names: '' }],
  ['its own disk and one standby of two', {}],
] as const) {
  const cluster = await startCluster(binaries, template, settings)
  for (const [operation, make] of Object.entries(operations)) {
    const servers: ServerUnderLoad[] = []
    for (const [name, file] of Object.entries(starters)) {
      const subject = name === byHand ? name : 'utility-api'
      const { child, port } = await forkServer(file, [subject, cluster.primary.node.url])
      const first = servers.length * share
      const requests = Array.from({ length: share }, (_, index) =>
        make(port, worldOf().clientSecret, first + index),
      )
      servers.push({ name, port, child, requests })
    }
    const results = await measureServers(servers, options)
    printResults(`${operation}, confirmed by ${title}, ${options.connections} connections`, results)
    for (const { child } of servers) child.disconnect()
  }
  cluster.stop()
}
