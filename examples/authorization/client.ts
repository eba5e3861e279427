// A client as another company might write it: it sends its user to the authorization page and gets a code back.
import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'

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
  function start(response: ServerResponse): void {
    const state = randomBytes(16).toString('base64url')
    const verifier = randomBytes(32).toString('base64url')
    response.setHeader('Set-Cookie', roundCookie(`${state}.${verifier}`, 600))
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

  async function finish(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const query = new URLSearchParams(request.url?.slice('/callback?'.length))
    const [state, verifier] = roundOf(request)
    response.setHeader('Set-Cookie', roundCookie('', 0))
    // In another browser than the one that began, somebody may be signing its user in to an account of theirs.
    if (verifier === undefined || query.get('state') !== state)
      return send(response, 400, { problem: 'This round was not started here.' })
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
    if (request.url?.split('?', 1)[0] !== '/callback') return start(response)
    finish(request, response).catch(() => send(response, 502, { problem: 'The server does not answer.' }))
  }
}

/** What a round must remember stays in the browser that began it: no other can end it, and nothing piles up here. */
function roundCookie(round: string, maxAge: number): string {
  // Behind TLS, add "; Secure".
  return `round=${round}; Max-Age=${maxAge}; HttpOnly; SameSite=Lax; Path=/callback`
}

function roundOf({ headers }: IncomingMessage): string[] {
  const cookies = headers.cookie?.split('; ') ?? []
  return (
    cookies
      .find((each) => each.startsWith('round='))
      ?.slice('round='.length)
      .split('.') ?? []
  )
}

function send(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value))
}
