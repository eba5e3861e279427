import { createAdmin, createUtilityApi, type AdminStorage, type UtilityApi } from 'utility-api'
import { grantFields } from '../../http/support/grant.ts'

/** How many statements each operation sends to the database, for one request alone. */
export interface RoundTrips {
  readonly exchange: number
  readonly update: number
  readonly generate: number
  readonly generateWithKey: number
  readonly verify: number
}

const redirectUri = 'https://shop.example/callback'

/** What was wrapped: a store knows a connection again by its identity. */
const wrapped = new WeakMap<object, object>()

/** Wraps the named methods of an object so that each call is told first; others go to the object itself. */
export function counting<Target extends object>(
  target: Target,
  methods: readonly string[],
  count: (method: string, args: unknown[]) => void,
): Target {
  const known = wrapped.get(target)
  if (known !== undefined) return known as Target
  const proxy = new Proxy(target, {
    get(_, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      return (...args: unknown[]): unknown => {
        if (methods.includes(String(name))) count(String(name), args)
        return Reflect.apply(member, target, args) as unknown
      }
    },
  })
  wrapped.set(target, proxy)
  return proxy
}

/** Replaces one method of an object. */
export function replacing<Target extends object>(target: Target, method: keyof Target, by: unknown): Target {
  return new Proxy(target, {
    get(_, name) {
      if (name === method) return by
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? (member.bind(target) as unknown) : member
    },
  })
}

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

/** One of the operations, as a caller uses it. */
interface Operation {
  /** Makes what a request needs of its own: a code, a license or an idempotency key. */
  readonly prepare: () => Promise<string>
  readonly work: (prepared: string) => Promise<unknown>
}

type Operations = Readonly<Record<keyof RoundTrips, Operation>>

/**
 * Does each operation twice to warm up, since a connection prepares its statements at first, then once more alone, and
 * counts what that sends.
 */
export function countRoundTrips(storage: AdminStorage, sent: () => number): Promise<RoundTrips> {
  return countEach(storage, async ({ prepare, work }) => {
    await work(await prepare())
    await work(await prepare())
    const prepared = await prepare()
    // A transaction of reads ends with the turn of the event loop.
    await turn()
    const before = sent()
    await work(prepared)
    await turn()
    return sent() - before
  })
}

/** Counts what an operation sends on average if several callers are never idle. */
export function countUnderLoad(
  storage: AdminStorage,
  sent: () => number,
  { callers, each }: { readonly callers: number; readonly each: number },
): Promise<RoundTrips> {
  return countEach(storage, async ({ prepare, work }) => {
    const prepared = await Promise.all(Array.from({ length: callers * each }, prepare))
    await turn()
    const before = sent()
    async function call(caller: number): Promise<void> {
      for (let index = 0; index < each; index += 1) await work(prepared[caller * each + index] ?? '')
    }
    await Promise.all(Array.from({ length: callers }, (_, caller) => call(caller)))
    return (sent() - before) / prepared.length
  })
}

async function countEach(
  storage: AdminStorage,
  count: (operation: Operation) => Promise<number>,
): Promise<RoundTrips> {
  const api = createUtilityApi({ storage })
  const { exchange, update, generate, generateWithKey, verify } = await operationsOf(api, storage)
  const counts = {
    exchange: await count(exchange),
    update: await count(update),
    generate: await count(generate),
    generateWithKey: await count(generateWithKey),
    verify: await count(verify),
  }
  await api.close()
  return counts
}

async function operationsOf(api: UtilityApi, storage: AdminStorage): Promise<Operations> {
  const admin = createAdmin({ storage })
  const { clientId, clientSecret } = await admin.createClient({ redirectUris: [redirectUri] })
  const { token } = await admin.createReseller()
  const { accessToken } = await admin.createAccessToken({ scope: '' })
  const send = async (
    method: string,
    path: string,
    headers: Record<string, string>,
    body?: string,
  ): Promise<unknown> => {
    const response = await api.fetch(
      new Request(`http://localhost${path}`, { method, headers, body: body ?? null }),
    )
    if (response.status !== 200) throw new Error(`${path}: ${response.status}`)
    return response.json()
  }
  const Authorization = `Bearer ${token}`
  const fields = { 'X-Registered-To': 'Ada', 'X-Domain-Or-IP': 'shop.example', 'X-Status': 'valid' }
  const generate = (headers = {}): Promise<unknown> =>
    send('POST', '/v2/reseller/licenses/generate', { Authorization, ...fields, ...headers })
  const nothing = async (): Promise<string> => ''
  let keys = 0
  return {
    exchange: {
      prepare: async () => (await admin.issueAuthorizationCode({ clientId, redirectUri, scope: '' })).code,
      work: (code) =>
        send(
          'POST',
          '/v4/oauth2/token',
          { 'Content-Type': 'application/json' },
          JSON.stringify(grantFields({ clientId, clientSecret }, code, redirectUri)),
        ),
    },
    update: {
      prepare: async () => ((await generate()) as { data: { license_key: string } }).data.license_key,
      work: (key) => send('PUT', `/v2/reseller/${key}/update`, { Authorization, 'X-Status': 'invalid' }),
    },
    generate: { prepare: nothing, work: () => generate() },
    generateWithKey: {
      prepare: async () => `order-${(keys += 1)}`,
      work: (key) => generate({ 'Idempotency-Key': key }),
    },
    verify: { prepare: nothing, work: () => api.verifyAccessToken(accessToken) },
  }
}
