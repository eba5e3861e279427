import type { Admin } from 'utility-api'
import type { Scene } from './day-scene.ts'
import { hex } from './ledger.ts'

export interface ShopClient {
  readonly clientId: string
  readonly clientSecret: string
}

export interface GivenCode {
  readonly code: string
  readonly redirectUri: string
  readonly client: ShopClient
}

/** Who sends requests, and what they hold. */
export interface People {
  readonly clients: readonly ShopClient[]
  readonly codes: GivenCode[]
  readonly tokens: { readonly text: string; readonly hash: Uint8Array }[]
  readonly revokedClients: Set<string>
  readonly resellers: readonly { readonly resellerId: string; readonly token: string }[]
  readonly licenses: { readonly licenseKey: string; readonly resellerId: string }[]
  /** The license that each reseller and idempotency key was answered. */
  readonly answeredKeys: Map<string, string>
  orders: number
  readonly askers: readonly { readonly id: string; readonly accessToken: string }[]
  readonly players: readonly { readonly id: string; readonly apiKey: string }[]
  /** What was answered with a 500: done or not. */
  readonly unsure: { readonly codes: GivenCode[]; readonly keys: Set<string> }
}

const redirectUri = 'https://shop.example/callback'
const three = [0, 1, 2]

/** Makes everybody that a day needs. */
export async function makePeople(admin: Admin): Promise<People> {
  return {
    clients: await Promise.all(three.map(() => admin.createClient({ redirectUris: [redirectUri] }))),
    codes: [],
    tokens: [],
    revokedClients: new Set(),
    resellers: await Promise.all(three.map(() => admin.createReseller())),
    licenses: [],
    answeredKeys: new Map(),
    orders: 0,
    askers: await Promise.all(
      three.map(async () => {
        const { accessTokenId, accessToken } = await admin.createAccessToken({
          scope: '',
          lifetimeSeconds: 3e7,
        })
        return { id: accessTokenId, accessToken }
      }),
    ),
    players: await Promise.all(
      three.map(async () => {
        const { apiKeyId, apiKey } = await admin.createApiKey()
        return { id: apiKeyId, apiKey }
      }),
    ),
    unsure: { codes: [], keys: new Set() },
  }
}

/** Issues a code, if nothing fails. */
export async function issueCode({ random }: Scene, people: People, admin: Admin): Promise<void> {
  const client = random.pick(people.clients)
  const subject = `subject-${random.integer(2)}`
  const asked = { clientId: client.clientId, redirectUri, scope: 'orders', subject }
  const issued = await admin.issueAuthorizationCode(asked).catch(() => undefined)
  if (issued !== undefined) people.codes.push({ code: issued.code, redirectUri, client })
}

type Match = (owner: string, subject: string | null) => boolean

/** What a revocation that began at `began` must have ended, once it is answered. */
function ended({ ledger, must, clock }: Scene, began: number, matches: Match, withTokens: boolean): void {
  for (const entry of ledger.codes.values()) {
    if (entry.storedAt >= began || !matches(entry.code.clientId, entry.code.subject)) continue
    entry.ended = true
    if (!withTokens || entry.tokenHash === undefined) continue
    must(!ledger.isLive(entry.tokenHash, clock.now()), 'a token is live after its revocation was answered')
    ledger.dead.set(hex(entry.tokenHash), entry.tokenHash)
  }
}

/** Revokes the access of a client or a subject, or one token. */
export async function revoke(scene: Scene, people: People, admin: Admin): Promise<void> {
  const { random, ledger, sequence } = scene
  const began = (sequence.now += 1)
  if (people.tokens.length > 0 && random.chance(30)) {
    const { text, hash } = random.pick(people.tokens)
    if (await succeeds(admin.revoke({ secret: text }))) ledger.dead.set(hex(hash), hash)
    return
  }
  const { clientId } = random.pick(people.clients)
  const subject = `subject-${random.integer(2)}`
  const isOfClient = random.chance(50)
  const matches: Match = (owner, of) => (isOfClient ? owner === clientId : of === subject)
  if (random.chance(85)) {
    if ([...ledger.codes.values()].some(({ redemptions }) => redemptions === 0))
      scene.note('access revoked during exchanges')
    if (await succeeds(admin.revokeAccess(isOfClient ? { clientId } : { subject })))
      ended(scene, began, matches, true)
    return
  }
  // One client is enough: the others go on.
  const last = people.clients.at(-1)?.clientId ?? ''
  people.revokedClients.add(last)
  if (await succeeds(admin.revokeClient(last))) ended(scene, began, (owner) => owner === last, false)
}

/** Whether a call was answered, whatever the answer. */
async function succeeds(call: Promise<unknown>): Promise<boolean> {
  return call.then(
    () => true,
    () => false,
  )
}

export async function purge(admin: Admin): Promise<void> {
  await admin.purgeExpired().catch(() => undefined)
}
