import { Pool } from 'pg'
import { createUtilityApi } from 'utility-api'
import { postgresStorage } from 'utility-api/storage/postgres'
import type { Ledger } from './ledger.ts'
import type { PostgresNode } from './node.ts'

/** What the clients were told and the database does not know, and what it has twice. */
export interface Verdict {
  readonly lost: string[]
  readonly doubled: string[]
  /** The whole history, judged thing by thing. */
  readonly history: Awaited<ReturnType<Ledger['history']['judge']>>
}

/** Compares what was acknowledged with what a node holds. */
export async function verify(node: PostgresNode, ledger: Ledger): Promise<Verdict> {
  const licenses = await readLicenses(node)
  const dead = await lostTokens(node, ledger)
  const lost = [
    ...dead,
    ...[...ledger.licenses].filter(([key, name]) => licenses.get(key)?.name !== name).map(([key]) => key),
    ...[...ledger.fields]
      .filter(([field, value]) => storedValue(licenses, field) < value)
      .map(([field]) => field),
  ]
  const doubled = [
    ...[...ledger.tokens].filter(([, tokens]) => tokens.length > 1).map(([code]) => code),
    ...[...ledger.orders].filter(([, keys]) => keys.size > 1).map(([order]) => order),
    // Of those that nobody was told of, too.
    ...(await namesOf(
      node,
      `SELECT subject AS name FROM utility_api_credentials WHERE kind = 'access_token'`,
    )),
    ...(await namesOf(
      node,
      `SELECT registered_to AS name FROM utility_api_licenses WHERE registered_to LIKE 'order %'`,
    )),
  ]
  const history = await ledger.history.judge({
    licenses: [...licenses].map(([licenseKey, { name, domain }]) => ({
      licenseKey,
      registeredTo: name,
      domainOrIp: domain,
    })),
    isLive: async (token) => !dead.includes(token),
  })
  return { lost, doubled, history }
}

interface StoredLicense {
  readonly name: string
  readonly domain: string
}

async function readLicenses(node: PostgresNode): Promise<Map<string, StoredLicense>> {
  const rows = await node.query<StoredLicense & { key: string }>(
    'SELECT license_key AS key, registered_to AS name, domain_or_ip AS domain FROM utility_api_licenses',
  )
  return new Map(rows.map((row) => [row.key, row]))
}

/** The number in a field; one that was asked for later may stand there without an acknowledgment, an earlier one may not. */
function storedValue(licenses: Map<string, StoredLicense>, keyAndHeader: string): number {
  const [key = '', header] = keyAndHeader.split(' ')
  const license = licenses.get(key)
  const text = header === 'X-Registered-To' ? license?.name : license?.domain
  return Number(/\d+/.exec(text ?? '')?.[0] ?? -1)
}

/** Tokens that were handed out and do not authenticate. */
async function lostTokens(node: PostgresNode, { tokens }: Ledger): Promise<string[]> {
  const pool = new Pool({ connectionString: node.url })
  const api = createUtilityApi({ storage: postgresStorage(pool), dns: false, blockgame: false })
  const lost: string[] = []
  for (const token of [...tokens.values()].flat()) {
    await api.verifyAccessToken(token).catch(() => lost.push(token))
  }
  await pool.end()
  return lost
}

/** Names that come more than once. */
async function namesOf(node: PostgresNode, rows: string): Promise<string[]> {
  const found = await node.query<{ name: string }>(
    `SELECT name FROM (${rows}) AS each GROUP BY name HAVING count(*) > 1`,
  )
  return found.map(({ name }) => name)
}
