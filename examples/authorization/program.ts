// A program on the user's machine, as another company might write it (RFC 8252): it listens on a port of the system's
// choice, sends the user's browser to the authorization page, and waits for the code there.
// Started as the server says: node program.ts SERVER_URL CLIENT_ID
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

const [issuer = '', clientId = ''] = process.argv.slice(2)
const found = await fetch(new URL('/.well-known/oauth-authorization-server', issuer))
const metadata = (await found.json()) as { authorization_endpoint: string; token_endpoint: string }

const listener = createServer().listen(0, '127.0.0.1')
await once(listener, 'listening')
const redirectUri = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/callback`
const state = randomBytes(16).toString('base64url')
const verifier = randomBytes(32).toString('base64url')
const page = new URL(metadata.authorization_endpoint)
page.search = new URLSearchParams({
  response_type: 'code',
  client_id: clientId,
  redirect_uri: redirectUri,
  scope: 'profile',
  state,
  code_challenge: createHash('sha256').update(verifier).digest('base64url'),
  code_challenge_method: 'S256',
}).toString()
console.log(`Open ${page.href}`)

const answer = await callback()
listener.close()
const code = answer.get('code')
// An answer of another server is not to be exchanged here (RFC 9207).
if (answer.get('iss') !== issuer || code === null) {
  console.log(`No token: ${answer.get('error') ?? 'this is not the answer to our request'}.`)
} else {
  const fields = {
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
    code_verifier: verifier,
  }
  const body = new URLSearchParams({ ...fields, client_id: clientId })
  const exchanged = await fetch(metadata.token_endpoint, { method: 'POST', body })
  const { access_token: token = '' } = (await exchanged.json()) as { access_token?: string }
  const me = await fetch(new URL('/me', issuer), { headers: { Authorization: `Bearer ${token}` } })
  console.log(`The token opens: ${await me.text()}`)
}

/** Waits for the browser to come back. Any page in it can send other requests, but does not know the state. */
async function callback(): Promise<URLSearchParams> {
  const { promise, resolve } = Promise.withResolvers<URLSearchParams>()
  listener.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const query = new URLSearchParams(request.url?.slice('/callback?'.length))
    if (query.get('state') !== state) return void response.writeHead(404).end()
    response.setHeader('Connection', 'close').end('You can close this window.')
    resolve(query)
  })
  return promise
}
