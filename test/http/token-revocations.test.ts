/** Codes that are exchanged while their client or their subject is revoked: no live token is left, whoever came first. */
import { createAdmin, createUtilityApi, type Admin, type UtilityApi } from 'utility-api'
import type { ListedCredential } from 'utility-api/storage'
import { afterAll, describe, expect, test } from 'vitest'
import { chosenPairs, runCleanUp, whyNoPair, type CleanUp } from '../storage/support/pairs.ts'
import type { Grantee } from './support/grant.ts'
import { exchange } from './support/token-request.ts'
import { redirectUri } from './support/world.ts'

/** REVOCATION_ROUNDS sets how often each kind of revocation races. */
const rounds = Number(process.env['REVOCATION_ROUNDS'] ?? 5)
const exchanges = 20

const cleanUp: CleanUp = []
afterAll(() => runCleanUp(cleanUp), 60_000)

interface Server {
  readonly api: UtilityApi
  readonly admin: Admin
}

interface Client extends Grantee {
  readonly subject: string
}

type Revoke = (admin: Admin, client: Client) => Promise<unknown>

const revocations: Readonly<Record<string, Revoke>> = {
  'revokeAccess of a client': (admin, { clientId }) => admin.revokeAccess({ clientId }),
  'revokeAccess of a subject': (admin, { subject }) => admin.revokeAccess({ subject }),
  revokeClient,
}

/** Tokens that were bought before stay. */
function revokeClient(admin: Admin, { clientId }: Client): Promise<unknown> {
  return admin.revokeClient(clientId)
}

async function issueCodes(admin: Admin, { clientId, subject }: Client): Promise<string[]> {
  const request = { clientId, redirectUri, scope: 'a', subject, lifetimeSeconds: 600 }
  const issued = Array.from({ length: exchanges }, () => admin.issueAuthorizationCode(request))
  return (await Promise.all(issued)).map(({ code }) => code)
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

/** One revocation in the midst of exchanges on both servers; how many of these bought a token. */
async function race(servers: readonly [Server, Server], revoke: Revoke, round: number): Promise<number> {
  const [one, other] = servers
  const subject = `user-${round}-${Math.random()}`
  const client = { ...(await one.admin.createClient({ redirectUris: [redirectUri] })), subject }
  const codes = await issueCodes(one.admin, client)
  const serverOf = (index: number): Server => (index % 2 === 0 ? one : other)
  const bought: string[] = []
  async function buy(code: string, index: number): Promise<void> {
    // Spread over the time that a revocation takes: some have the code first, and some do not.
    await turns(Math.floor(Math.random() * 40))
    const token = await exchange(serverOf(index).api, client, code)
    if (token !== null) bought.push(token)
  }
  async function revokeInBetween(): Promise<number> {
    await turns(Math.floor(Math.random() * 20))
    await revoke(serverOf(round).admin, client)
    return (await tokensOf(other, client)).length
  }
  const [stored] = await Promise.all([revokeInBetween(), ...codes.map(buy)])
  if (revoke === revokeClient) await one.admin.revokeAccess({ clientId: client.clientId })
  for (const { api } of servers) {
    const verified = await Promise.all(
      bought.map((token) => api.verifyAccessToken(token).then(() => 'live', String)),
    )
    expect(verified.filter((each) => each === 'live')).toEqual([])
  }
  const rest = await Promise.all(codes.map((code, index) => exchange(serverOf(index).api, client, code)))
  expect(
    rest.filter((token) => token !== null),
    'a code that is left buys nothing',
  ).toEqual([])
  const tokens = await tokensOf(one, client)
  expect(tokens.filter(({ revokedAt }) => revokedAt === null)).toEqual([])
  expect([tokens.length, bought.length], 'none was stored after the revocation').toEqual([stored, stored])
  return bought.length
}

async function tokensOf({ admin }: Server, { clientId }: Client): Promise<ListedCredential[]> {
  const page = { kind: 'access_token', ownerId: clientId, limit: 1000 } as const
  return (await admin.listCredentials(page)).credentials
}

describe.each(chosenPairs)('on %s', (kind, open) => {
  test(
    `${rounds} rounds of each revocation against ${exchanges} exchanges leave no live token`,
    async ({ task, skip }) => {
      const missing = whyNoPair(kind)
      if (missing !== null) skip(missing)
      const servers = (await open(cleanUp)).map((storage): Server => ({
        api: createUtilityApi({ storage, dns: false, blockgame: false, oauth: { onReplay: 'deny' } }),
        admin: createAdmin({ storage }),
      })) as [Server, Server]
      const figures: Record<string, number> = { rounds, exchanges: rounds * exchanges }
      for (const [what, revoke] of Object.entries(revocations)) {
        for (let round = 0; round < rounds; round += 1) {
          figures[what] = (figures[what] ?? 0) + (await race(servers, revoke, round))
        }
      }
      Object.assign(task.meta, { figures })
    },
    60_000 + rounds * 10_000,
  )
})
