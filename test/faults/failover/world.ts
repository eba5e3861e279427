import { callWithin } from 'utility-api/storage'
import { Pool } from 'pg'
import { createAdmin } from 'utility-api'
import { postgresStorage } from 'utility-api/storage/postgres'
import { newLicense } from '../../storage/support/license.ts'

export const redirectUri = 'https://app.example/callback'

/** What is in the database before the first round, the same for all of them. */
export interface World {
  readonly clientId: string
  readonly clientSecret: string
  readonly resellerToken: string
  /** The subject of each is its place in this list, so that tokens say what they were bought with. */
  readonly codes: readonly string[]
  /** Keys of licenses to update. */
  readonly licenseKeys: readonly string[]
}

export async function createWorld(url: string, codeCount: number, licenseCount: number): Promise<World> {
  const pool = new Pool({ connectionString: url })
  const storage = postgresStorage(pool)
  await storage.migrate()
  // Ahead of time, so that the codes live for as long as the rounds take.
  const admin = createAdmin({ storage, clock: { now: () => Date.now() + 3_600_000 } })
  const client = await admin.createClient({ redirectUris: [redirectUri] })
  const { token: resellerToken, resellerId } = await admin.createReseller()
  const codes = await Promise.all(
    Array.from({ length: codeCount }, async (_, index) => {
      const { code } = await admin.issueAuthorizationCode({
        clientId: client.clientId,
        redirectUri,
        scope: 'dns:check',
        subject: `${index}`,
        lifetimeSeconds: 600,
      })
      return code
    }),
  )
  const licenseKeys = Array.from({ length: licenseCount }, (_, index) => `FAILOVER-${index}`)
  const call = callWithin(Infinity)
  await Promise.all(
    licenseKeys.map((licenseKey) => {
      const texts = { registeredTo: 'value 0', domainOrIp: 'n0.example.com' }
      return storage.insertLicense(newLicense(licenseKey, { resellerId, ...texts }), undefined, call)
    }),
  )
  await pool.end()
  return { ...client, resellerToken, codes, licenseKeys }
}
