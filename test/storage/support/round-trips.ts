import { createAdmin, createUtilityApi, type AdminStorage } from 'utility-api'

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

/** Wraps the named methods of an object so that each call is counted; others go to the object itself. */
export function counting<Target extends object>(
  target: Target,
  methods: readonly string[],
  count: () => void,
): Target {
  const known = wrapped.get(target)
  if (known !== undefined) return known as Target
  const proxy = new Proxy(target, {
    get(_, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      return (...args: unknown[]): unknown => {
        if (methods.includes(String(name))) count()
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

/** Does each operation once to warm up, then once more alone, and counts what that sends. */
export async function countRoundTrips(storage: AdminStorage, sent: () => number): Promise<RoundTrips> {
  const admin = createAdmin({ storage })
  const api = createUtilityApi({ storage })
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
  const code = async (): Promise<string> =>
    (await admin.issueAuthorizationCode({ clientId, redirectUri, scope: '' })).code
  const fields = { 'X-Registered-To': 'Ada', 'X-Domain-Or-IP': 'shop.example', 'X-Status': 'valid' }
  const Authorization = `Bearer ${token}`
  const generate = (headers = {}): Promise<unknown> =>
    send('POST', '/v2/reseller/licenses/generate', { Authorization, ...fields, ...headers })
  const { data } = (await generate()) as { data: { license_key: string } }

  async function count(
    prepare: () => Promise<string>,
    work: (prepared: string) => Promise<unknown>,
  ): Promise<number> {
    await work(await prepare())
    const prepared = await prepare()
    // A transaction of reads ends with the turn of the event loop.
    await turn()
    const before = sent()
    await work(prepared)
    await turn()
    return sent() - before
  }
  const nothing = async (): Promise<string> => ''
  let keys = 0
  const counts = {
    exchange: await count(code, (each) =>
      send(
        'POST',
        '/v4/oauth2/token',
        { 'Content-Type': 'application/json' },
        JSON.stringify({
          grant_type: 'authorization_code',
          code: each,
          redirect_uri: redirectUri,
          client_id: clientId,
          client_secret: clientSecret,
        }),
      ),
    ),
    update: await count(nothing, () =>
      send('PUT', `/v2/reseller/${data.license_key}/update`, { Authorization, 'X-Status': 'invalid' }),
    ),
    generate: await count(nothing, () => generate()),
    generateWithKey: await count(
      async () => `order-${(keys += 1)}`,
      (key) => generate({ 'Idempotency-Key': key }),
    ),
    verify: await count(nothing, () => api.verifyAccessToken(accessToken)),
  }
  await api.close()
  return counts
}
