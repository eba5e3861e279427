// The part the operations leave to you: a page that asks your signed-in user, and issues a code if they agree.
import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Admin } from 'utility-api'
import type { UtilityStorage } from 'utility-api/storage'

/** What a client asks for (RFC 6749 section 4.1.1, RFC 7636 section 4.3). */
interface AuthorizationRequest {
  readonly clientId: string
  readonly redirectUri: string
  readonly scope: string
  readonly state: string | null
  readonly codeChallenge: string | null
}

const grantableScopes = new Set(['dns:check'])
const pendingLifetimeMs = 10 * 60 * 1000

export interface AuthorizationPage {
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>
}

export function createAuthorizationPage(storage: UtilityStorage, admin: Admin): AuthorizationPage {
  // A request waits here for the user's answer. The form carries its key and the cookie does too: a page on another
  // site can send the form, but not the cookie (SameSite=Strict), so it cannot agree in the user's name.
  const pending = new Map<string, AuthorizationRequest>()

  async function ask(url: URL, response: ServerResponse): Promise<void> {
    const asked = await readRequest(url.searchParams, storage)
    // Until client and redirect URI are known to belong together, nobody is redirected: that would be an open redirector.
    if (asked === null)
      return sendPage(response, 400, '<p>This link is not valid: unknown client or redirect URI.</p>')
    const problem = problemOf(url.searchParams, asked)
    if (problem !== null) return redirect(response, asked, { error: problem })
    const key = randomBytes(32).toString('base64url')
    pending.set(key, asked)
    setTimeout(() => pending.delete(key), pendingLifetimeMs).unref()
    response.setHeader('Set-Cookie', `consent=${key}; HttpOnly; SameSite=Strict; Path=/authorize`)
    sendPage(response, 200, consentForm(key, asked))
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = new URLSearchParams(await readText(request))
    const key = form.get('key') ?? ''
    const asked = pending.get(key)
    if (asked === undefined || !(request.headers.cookie ?? '').split('; ').includes(`consent=${key}`)) {
      return sendPage(response, 400, '<p>This form is no longer valid. Please start again.</p>')
    }
    pending.delete(key)
    if (form.get('answer') !== 'allow') return redirect(response, asked, { error: 'access_denied' })
    const { clientId, redirectUri, scope, codeChallenge } = asked
    const { code } = await admin.issueAuthorizationCode({
      clientId,
      redirectUri,
      scope,
      ...(codeChallenge !== null && { codeChallenge }),
    })
    redirect(response, asked, { code })
  }

  return {
    async handle(request, response) {
      const url = new URL(request.url ?? '/', 'http://localhost')
      if (request.method === 'GET') await ask(url, response)
      else if (request.method === 'POST') await answer(request, response)
      else sendPage(response, 405, '<p>Only GET and POST.</p>')
    },
  }
}

/** The request, if its client exists and has registered exactly this redirect URI. */
async function readRequest(
  query: URLSearchParams,
  storage: UtilityStorage,
): Promise<AuthorizationRequest | null> {
  const clientId = query.get('client_id') ?? ''
  const redirectUri = query.get('redirect_uri') ?? ''
  const client = await storage.findClient(clientId)
  if (client === null || client.revokedAt !== null || !client.redirectUris.includes(redirectUri)) return null
  return {
    clientId,
    redirectUri,
    scope: query.get('scope') ?? '',
    state: query.get('state'),
    codeChallenge: query.get('code_challenge'),
  }
}

/** The error to send back to the client (RFC 6749 section 4.1.2.1); null when there is none. */
function problemOf(query: URLSearchParams, { scope, codeChallenge }: AuthorizationRequest): string | null {
  if (query.get('response_type') !== 'code') return 'unsupported_response_type'
  if (scope !== '' && !scope.split(' ').every((name) => grantableScopes.has(name))) return 'invalid_scope'
  if (codeChallenge === null) return null
  const wellFormed = /^[\w-]{43}$/.test(codeChallenge) && query.get('code_challenge_method') === 'S256'
  return wellFormed ? null : 'invalid_request'
}

function redirect(
  response: ServerResponse,
  { redirectUri, state }: AuthorizationRequest,
  parameters: Record<string, string>,
): void {
  const target = new URL(redirectUri)
  for (const [name, value] of Object.entries(parameters)) target.searchParams.set(name, value)
  if (state !== null) target.searchParams.set('state', state)
  response.writeHead(303, { Location: target.href, 'Cache-Control': 'no-store' }).end()
}

function consentForm(key: string, { clientId, scope }: AuthorizationRequest): string {
  return `<p><b>${escapeHtml(clientId)}</b> asks for: ${escapeHtml(scope === '' ? 'nothing in particular' : scope)}</p>
<form method="post" action="/authorize">
  <input type="hidden" name="key" value="${key}">
  <button name="answer" value="allow">Allow</button>
  <button name="answer" value="deny">Deny</button>
</form>`
}

function sendPage(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, {
    'Content-Type': 'text/html; charset=utf-8',
    'Cache-Control': 'no-store',
    // No other site may show this page in a frame and have its button clicked.
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  })
  response.end(`<!doctype html><title>Authorization</title>${body}`)
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}

async function readText(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) {
    text += chunk as string
    if (text.length > 4096) return ''
  }
  return text
}
