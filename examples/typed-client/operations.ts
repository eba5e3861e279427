import createClient from 'openapi-fetch'
import type { paths } from './schema.d.ts'

/** What the five operations require. */
export interface Credentials {
  readonly clientId: string
  readonly clientSecret: string
  readonly code: string
  readonly redirectUri: string
  readonly resellerToken: string
  readonly apiKey: string
  /** The game server to look up. */
  readonly server: { readonly ip: string; readonly port: number }
}

/** Performs all five operations. The compiler checks paths, headers, bodies and answers. */
export async function performAll(baseUrl: string, credentials: Credentials): Promise<Answers> {
  const api = createClient<paths>({ baseUrl })
  const reseller = { Authorization: `Bearer ${credentials.resellerToken}` }

  const exchanged = await api.POST('/v4/oauth2/token', {
    body: {
      grant_type: 'authorization_code',
      code: credentials.code,
      redirect_uri: credentials.redirectUri,
      client_id: credentials.clientId,
      client_secret: credentials.clientSecret,
    },
  })
  const token = dataOf(exchanged)

  const generated = await api.POST('/v2/reseller/licenses/generate', {
    params: {
      header: { 'X-Registered-To': 'Ada Lovelace', 'X-Domain-Or-IP': 'shop.example', 'X-Status': 'valid' },
    },
    headers: reseller,
  })
  const { data: license } = dataOf(generated)

  const updated = await api.PUT('/v2/reseller/{license_key}/update', {
    params: { path: { license_key: license.license_key }, header: { 'X-Status': 'invalid' } },
    headers: reseller,
  })

  const checked = await api.GET('/v3/tools/dnscheck', {
    params: { header: { 'X-Domain': 'shop.example', 'X-Record-Type': 'A' } },
    headers: { Authorization: `Bearer ${token.access_token}` },
  })

  const { ip, port } = credentials.server
  const lookedUp = await api.GET('/v4/games/blockgame/lookup', {
    params: { header: { 'X-Address': ip, 'X-Port': String(port) } },
    headers: { Basic: credentials.apiKey },
  })

  return {
    scope: token.scope,
    licenseKey: license.license_key,
    message: dataOf(updated).message,
    addresses: dataOf(checked).map(({ location, dns_results }) => ({
      location,
      ips: dns_results.flatMap((record) => (record.type === 'A' ? [record.ip] : [])),
    })),
    playersOnline: dataOf(lookedUp).players.online,
  }
}

export interface Answers {
  readonly scope: string
  readonly licenseKey: string
  readonly message: string
  readonly addresses: readonly { readonly location: string; readonly ips: readonly string[] }[]
  readonly playersOnline: number
}

/**
 * Returns the data of an answer, which is data or an error, never both. The error's `error` is one of the operation's
 * codes.
 */
function dataOf<Data>(answer: { data?: Data; error?: { error: string } }): Data {
  if (answer.data !== undefined) return answer.data
  throw new Error(`The service refused: ${answer.error?.error}`)
}
