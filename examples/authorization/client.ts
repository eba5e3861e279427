// A client as another company might write it: it sends its user to the authorization page and gets a code back.
import { createHash, randomBytes } from 'node:crypto'
import type { RequestListener, ServerResponse } from 'node:http'

export interface ClientSettings {
  readonly serverUrl: string
  readonly clientId: string
  readonly clientSecret: string
  readonly redirectUri: string
}

/** Creates a client: `/` starts the round; `/callback` ends it and shows what the server granted. */
export function createClient({
  serverUrl,
  clientId,
  clientSecret,
  redirectUri,
}: ClientSettings): RequestListener {
  // One verifier for each round, looked up by its state: a callback that nobody started is refused.
  const verifiers = new Map<string, string>()

  function start(response: ServerResponse): void {
    const state = randomBytes(16).toString('base64url')
    const verifier = randomBytes(32).toString('base64url')
    verifiers.set(state, verifier)
    const target = new URL('/authorize', serverUrl)
    target.search = new URLSearchParams({
      response_type: 'code',
      client_id: clientId,
      redirect_uri: redirectUri,
      scope: 'profile',
      state,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    }).toString()
    response.writeHead(303, { Location: target.href }).end()
  }

  async function finish(query: URLSearchParams, response: ServerResponse): Promise<void> {
    const state = query.get('state') ?? ''
    const verifier = verifiers.get(state)
    verifiers.delete(state)
    if (verifier === undefined) return send(response, 400, { problem: 'This round was not started here.' })
    if (query.has('error')) return send(response, 200, { refused: query.get('error') })
    const answer = await fetch(new URL('/v4/oauth2/token', serverUrl), {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({
        grant_type: 'authorization_code',
        code: query.get('code'),
        redirect_uri: redirectUri,
        client_id: clientId,
        client_secret: clientSecret,
        code_verifier: verifier,
      }),
    })
    const { access_token: token, scope } = (await answer.json()) as { access_token?: string; scope?: string }
    if (token === undefined) return send(response, answer.status, { problem: 'There was no token.' })
    const me = await fetch(new URL('/me', serverUrl), { headers: { Authorization: `Bearer ${token}` } })
    send(response, me.status, { granted: scope, user: await me.json() })
  }

  return (request, response) => {
    const url = new URL(request.url ?? '/', redirectUri)
    if (url.pathname === '/callback') void finish(url.searchParams, response)
    else start(response)
  }
}

function send(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value))
}
