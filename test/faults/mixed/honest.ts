import { isDeepStrictEqual } from 'node:util'
import { issueCodes, type World } from '../load.ts'
import type { Client } from './client.ts'
import { addressOf, type Remotes } from './remotes.ts'
import { grantFields } from '../../http/support/grant.ts'

/** What clients hold, beside the world of tokens and licenses. */
export interface Holder extends World {
  readonly accessToken: string
  readonly apiKey: string
}

export type Work = () => Promise<void>

const redirectUri = 'https://app.example/callback'
/** How long a game server has for its first byte. */
const silenceMs = 600
/** Tokens that are looked for in the end; the older ones are forgotten. */
const maxTokens = 3000

/** All five operations as honest clients use them, every answer known beforehand. */
export function honestWork(client: Client, holder: Holder, remotes: Remotes): readonly Work[] {
  const { ledger, codes, clientId, clientSecret, resellerToken, accessToken, apiKey } = holder
  const bearer = { Authorization: `Bearer ${resellerToken}` }
  const own: string[] = []
  let counter = 0
  let issuing: Promise<void> | undefined

  async function nextCode(): Promise<string> {
    if (codes.length < 100) issuing ??= issueCodes(holder, 200).finally(() => (issuing = undefined))
    if (codes.length === 0) await issuing
    // The oldest first: one that is never reached would expire in a run of a quarter of an hour.
    return codes.shift() ?? ''
  }

  async function exchange(): Promise<void> {
    const code = await nextCode()
    const body = JSON.stringify(grantFields({ clientId, clientSecret }, code, redirectUri))
    const sent = {
      method: 'POST',
      path: '/v4/oauth2/token',
      headers: { 'Content-Type': 'application/json' },
      body,
    }
    const answer = await client.send(sent)
    client.expect('an exchange', answer, 200, { token_type: 'Bearer', expires_in: 3600, scope: 'dns:check' })
    if (answer.status !== 200) return
    ledger.tokens.set(code, (answer.json as { access_token: string }).access_token)
    const [oldest] = ledger.tokens.keys()
    if (ledger.tokens.size > maxTokens && oldest !== undefined) ledger.tokens.delete(oldest)
    if (counter % 5 > 0) return
    client.expect('a replay', await client.send(sent), 400, { error: 'invalid_grant' })
    ledger.tokens.delete(code)
  }

  async function generate(): Promise<void> {
    const name = `name-${(counter += 1)}`
    const fields = { 'X-Registered-To': name, 'X-Domain-Or-IP': 'example.com', 'X-Status': 'valid' }
    const answer = await client.send({
      method: 'POST',
      path: '/v2/reseller/licenses/generate',
      headers: { ...bearer, ...fields },
    })
    const data = { registered_to: name, domain_or_ip: 'example.com', status: 'valid' }
    client.expect('a license', answer, 200, (json) => {
      const { license_key: key, ...rest } = (json as { data?: Record<string, string> }).data ?? {}
      if (key === undefined || ledger.licenses.has(key) || !isDeepStrictEqual(rest, data)) return false
      ledger.licenses.set(key, name)
      own.push(key)
      return true
    })
  }

  async function update(): Promise<void> {
    const key = own.pop()
    if (key === undefined) return generate()
    const name = `changed-${(counter += 1)}`
    const answer = await client.send({
      method: 'PUT',
      path: `/v2/reseller/${key}/update`,
      headers: { ...bearer, 'X-Registered-To': name },
    })
    client.expect('an update', answer, 200, { message: 'License updated.' })
    ledger.licenses.set(key, name)
  }

  async function check(): Promise<void> {
    const number = (counter += 1)
    const host = `n${number}.example.com`
    const answer = await client.send({
      method: 'GET',
      path: '/v3/tools/dnscheck',
      headers: { Authorization: `Bearer ${accessToken}`, 'X-Domain': host, 'X-Record-Type': 'A' },
    })
    const dns_results = [{ type: 'A', host, ttl: 60, ip: addressOf(number) }]
    client.expect('a DNS check', answer, 200, (json) => {
      const [first] = Array.isArray(json) ? (json as object[]) : []
      return isDeepStrictEqual({ ...first, dns_results, status: 'NOERROR', resolved: true }, first)
    })
  }

  async function lookUp(): Promise<void> {
    const port = String(remotes.gamePort)
    const host = `g${(counter += 1)}.example.com`
    const answer = await client.send({
      method: 'GET',
      path: '/v4/games/blockgame/lookup',
      headers: { Basic: apiKey, 'X-Address': host, 'X-Port': port },
    })
    const { ping: _, ...found } = answer.json as Record<string, unknown>
    // A game server that is silent for long is asked as old ones are, and names the protocol of those then.
    const protocols = answer.tookMs < silenceMs ? [769] : [769, 127]
    client.expect('a lookup', answer, 200, () =>
      protocols.some((protocol) =>
        isDeepStrictEqual(found, {
          ip: '127.0.0.1',
          port,
          players: { online: 3, max: 20 },
          version: { name: '1.21.4', protocol },
          srvRecord: {},
        }),
      ),
    )
  }

  return [exchange, generate, update, check, lookUp]
}
