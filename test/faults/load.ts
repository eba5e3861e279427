import { setTimeout as sleep } from 'node:timers/promises'
import { createAdmin, type Admin } from 'utility-api'
import type { AdminStorage } from 'utility-api/storage'
import { HttpHistory, type Seen } from '../histories/support/http-history.ts'

/** Everything that clients were told, kept where no crash of the server reaches it. */
interface Ledger {
  /** Registered names by license key, for every license whose creation was answered. */
  readonly licenses: Map<string, string>
  /** Names that an update without an answer may have written, by license key. */
  readonly maybe: Map<string, string>
  /** Idempotency keys of generations without an answer, with the name each asked for. */
  readonly unanswered: Map<string, string>
  /** Access tokens by the code that bought them. */
  readonly tokens: Map<string, string>
  /** Codes whose exchange got no answer. */
  readonly maybeSpent: Set<string>
  /** How often each status was answered. */
  readonly statuses: Map<number, number>
  /** Everything that was asked, to be judged. */
  readonly history: HttpHistory
}

export interface World {
  readonly admin: Admin
  readonly storage: AdminStorage
  readonly clientId: string
  readonly clientSecret: string
  readonly resellerToken: string
  readonly ledger: Ledger
  /** Codes that nobody tried to spend yet. */
  readonly codes: string[]
}

/** Trouble may be answered at once: without a breath, clients would ask in a busy loop. */
const breathMs = 50

const redirectUri = 'https://app.example/callback'

export async function createWorld(
  storage: AdminStorage,
  history: HttpHistory = new HttpHistory(),
): Promise<World> {
  const admin = createAdmin({ storage })
  const { clientId, clientSecret } = await admin.createClient({ redirectUris: [redirectUri] })
  const { token: resellerToken } = await admin.createReseller()
  const ledger: Ledger = {
    licenses: new Map(),
    maybe: new Map(),
    unanswered: new Map(),
    tokens: new Map(),
    maybeSpent: new Set(),
    statuses: new Map(),
    history,
  }
  return { admin, storage, clientId, clientSecret, resellerToken, ledger, codes: [] }
}

export async function issueCodes({ admin, clientId, codes }: World, count: number): Promise<void> {
  const request = { clientId, redirectUri, scope: 'dns:check', lifetimeSeconds: 600 }
  const issued = await Promise.all(Array.from({ length: count }, () => admin.issueAuthorizationCode(request)))
  codes.push(...issued.map(({ code }) => code))
}

interface Answer {
  readonly status: number
  readonly body: { readonly data?: { license_key: string }; readonly access_token?: string }
}

/** When something is asked, and then what was seen of its answer. */
function asking(): (answer: Answer | null) => Seen {
  const askedAt = performance.now()
  return (answer) => ({ status: answer?.status ?? 0, askedAt, tookMs: performance.now() - askedAt })
}

/** The answer, or null when none came: the server may or may not have done the work. */
async function send(world: World, url: string, init: RequestInit): Promise<Answer | null> {
  try {
    const response = await fetch(url, init)
    const answer = { status: response.status, body: (await response.json()) as Answer['body'] }
    const { statuses } = world.ledger
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
    if (answer.status >= 500) await sleep(breathMs)
    return answer
  } catch {
    await sleep(breathMs)
    return null
  }
}

let counter = 0

/** Generates a license and returns its key; with `retry`, an earlier request is repeated with its idempotency key. */
export async function generate(
  world: World,
  origin: string,
  retry?: readonly [string, string],
): Promise<string | undefined> {
  const { licenses, unanswered, history } = world.ledger
  const [idempotencyKey, name] = retry ?? [`key-${counter}`, `name-${counter}`]
  counter += 1
  unanswered.set(idempotencyKey, name)
  const seen = asking()
  const answer = await send(world, `${origin}/v2/reseller/licenses/generate`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${world.resellerToken}`,
      'Idempotency-Key': idempotencyKey,
      'X-Registered-To': name,
      'X-Domain-Or-IP': 'example.com',
      'X-Status': 'valid',
    },
  })
  history.ordered(name, idempotencyKey, seen(answer), answer?.body.data?.license_key)
  if (answer?.status !== 200 || answer.body.data === undefined) return undefined
  const { license_key } = answer.body.data
  licenses.set(license_key, name)
  unanswered.delete(idempotencyKey)
  return license_key
}

async function update(world: World, origin: string, own: string[]): Promise<void> {
  const { licenses, maybe, history } = world.ledger
  const key = own.pop()
  if (key === undefined) return
  const name = `${licenses.get(key)}+`
  maybe.set(key, name)
  const seen = asking()
  const answer = await send(world, `${origin}/v2/reseller/${key}/update`, {
    method: 'PUT',
    headers: { Authorization: `Bearer ${world.resellerToken}`, 'X-Registered-To': name },
  })
  history.updated(key, 'registeredTo', `${licenses.get(key)}`, name, seen(answer))
  // A license whose update got no answer is left alone from here on.
  if (answer?.status !== 200) return
  licenses.set(key, name)
  maybe.delete(key)
  own.push(key)
}

export async function exchange(
  world: World,
  origin: string,
  code: string | undefined,
): Promise<Answer | null> {
  const { clientId: client_id, clientSecret: client_secret, ledger } = world
  if (code === undefined) return null
  const body = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, client_id, client_secret }
  ledger.maybeSpent.add(code)
  const seen = asking()
  const answer = await send(world, `${origin}/v4/oauth2/token`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
  ledger.history.exchanged(code, seen(answer), answer?.body.access_token)
  if (answer?.status !== 200 || answer.body.access_token === undefined) return answer
  ledger.tokens.set(code, answer.body.access_token)
  ledger.maybeSpent.delete(code)
  return answer
}

/** Lets clients call one after the other until told to stop; resolves when the last answer is in, or lost. */
export function startLoad(world: World, origins: readonly string[]): () => Promise<void> {
  const stop = new AbortController()
  async function run(origin: string): Promise<void> {
    // Each client updates its own licenses only, so that their last confirmed name is known.
    const own: string[] = []
    const steps = [
      async () => own.push(...[await generate(world, origin)].filter((key) => key !== undefined)),
      () => update(world, origin, own),
      () => exchange(world, origin, world.codes.pop()),
    ]
    while (!stop.signal.aborted) {
      await steps[Math.floor(Math.random() * 3)]?.()
    }
  }
  const clients = Array.from({ length: 16 }, (_, index) => run(origins[index % origins.length] ?? ''))
  return async () => {
    stop.abort()
    await Promise.all(clients)
  }
}
