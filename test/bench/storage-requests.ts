import { redirectUri } from '../faults/failover/world.ts'

/** Clients and resellers that take turns: reads of one and the same could be shared. */
export const callers = 100

/** How many licenses there are to update. */
export const licenseCount = 1000

/** Returns a request as octets. `index` counts the requests of an operation. */
export type MakeRequest = (port: number, clientSecret: string, index: number) => string

function request(port: number, line: string, headers: Record<string, string>, body: string = ''): string {
  const all = { Host: `127.0.0.1:${port}`, ...headers, 'Content-Length': `${body.length}` }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${line} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}

/** The operations that use storage. */
export const operations: Readonly<Record<string, MakeRequest>> = {
  exchange: (port, clientSecret, index) => {
    const fields = {
      grant_type: 'authorization_code',
      code: `code-${String(index).padStart(10, '0')}`,
      redirect_uri: redirectUri,
      client_id: `client-${index % callers}`,
      client_secret: clientSecret,
    }
    const type = { 'Content-Type': 'application/json' }
    return request(port, 'POST /v4/oauth2/token', type, JSON.stringify(fields))
  },
  generate: (port, _, index) =>
    request(port, 'POST /v2/reseller/licenses/generate', {
      Authorization: `Bearer token-${index % callers}`,
      'X-Registered-To': 'Ada Lovelace',
      'X-Domain-Or-IP': 'shop.example.com',
      'X-Status': 'valid',
    }),
  // Of licenses that differ: updates of one wait for each other.
  update: (port, _, index) =>
    request(port, `PUT /v2/reseller/bench-${index % licenseCount}/update`, {
      Authorization: `Bearer token-${index % callers}`,
      'X-Registered-To': `Ada ${index}`,
    }),
}

/** Verifies an access token in a route of the server's own. */
export const verify: MakeRequest = (port, _, index) =>
  request(port, 'GET /verify', { Authorization: `Bearer access-${index % callers}` })
