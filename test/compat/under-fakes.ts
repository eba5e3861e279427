// Loaded by Node.js itself, so that the library is what a program gets: see fake-timers.long.test.ts.
import { DatabaseSync } from 'node:sqlite'
import { Pool } from 'pg'
import { createAdmin, createUtilityApi } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { postgresStorage } from 'utility-api/storage/postgres'
import { sqliteStorage } from 'utility-api/storage/sqlite'
import { fakeBlockgameServer, fakeDnsServer } from 'utility-api/testing'

/**
 * Uses every part of the library while timers are faked. Returns the statuses of its answers, and which resolvers
 * answered: one that answers, one that is silent and one that sends nonsense are asked.
 *
 * @param store - Where the library stores; anything else is the address of a PostgreSQL database.
 */
export async function useAll(
  store: string,
  fake: () => () => void,
): Promise<{ statuses: number[]; resolved: boolean[] }> {
  const database = new DatabaseSync(':memory:')
  const pool = new Pool({ connectionString: store })
  const storages = { memory: memoryStorage(), SQLite: sqliteStorage(database) }
  const storage = storages[store as keyof typeof storages] ?? postgresStorage(pool)
  const admin = createAdmin({ storage })
  const dns = await fakeDnsServer({ records: [{ type: 'A', host: 'a.example', ttl: 60, ip: '203.0.113.1' }] })
  const silent = await fakeDnsServer({ drop: Infinity })
  const malformed = await fakeDnsServer({
    truncate: true,
    reply: (query) => (query.transport === 'tcp' ? query.answer().subarray(0, 14) : undefined),
  })
  const game = await fakeBlockgameServer()
  const locations = [dns, silent, malformed].map(({ ip, port }) => ({
    location: `${ip}:${port}`,
    ip,
    port,
    provider: 'Test',
  }))
  let unfake = fake()
  try {
    if ('migrate' in storage) await storage.migrate()
    const api = createUtilityApi({
      storage,
      logger: false,
      dns: { locations, timeoutMs: 1000 },
      blockgame: { allowAddress: ({ ip }) => ip === game.ip },
    })
    const { token } = await admin.createReseller()
    const redirectUri = 'https://app.example/'
    const { clientId, clientSecret } = await admin.createClient({ redirectUris: [redirectUri] })
    const { code } = await admin.issueAuthorizationCode({ clientId, redirectUri, scope: '' })
    const { accessToken } = await admin.createAccessToken({ scope: '' })
    const { apiKey } = await admin.createApiKey()
    const ask = (method: string, path: string, headers: HeadersInit, body?: string): Promise<Response> =>
      api.fetch(new Request(`http://a${path}`, { method, headers, ...(body && { body }) }))
    const form = {
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
      client_id: clientId,
      client_secret: clientSecret,
    }
    const license = {
      Authorization: `Bearer ${token}`,
      'X-Registered-To': 'Ada',
      'X-Domain-Or-IP': 'a.example',
      'X-Status': 'valid',
    }
    const generate = (): Promise<Response> => ask('POST', '/v2/reseller/licenses/generate', license)
    const check = { Authorization: `Bearer ${accessToken}`, 'X-Domain': 'a.example', 'X-Record-Type': 'A' }
    const lookup = { Basic: apiKey, 'X-Address': game.ip, 'X-Port': String(game.port) }
    const [checked, ...answers] = await Promise.all([
      api.checkDns({ domain: 'a.example', recordType: 'A' }),
      ask('POST', '/v4/oauth2/token', { 'Content-Type': 'application/json' }, JSON.stringify(form)),
      generate(),
      generate(),
      ask('GET', '/v3/tools/dnscheck', check),
      ask('GET', '/v4/games/blockgame/lookup', lookup),
    ])
    const begun = generate()
    unfake()
    answers.push(await begun)
    unfake = fake()
    await api.close()
    return {
      statuses: answers.map(({ status }) => status),
      resolved: checked.map(({ resolved }) => resolved),
    }
  } finally {
    unfake()
    await Promise.all([dns, silent, malformed, game].map((each) => each.close()))
    database.close()
    await pool.end()
  }
}
