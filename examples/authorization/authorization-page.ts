// The part that is yours: a page that asks your signed-in user. Everything that OAuth requires of it is in the three
// calls to `admin`.
import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Admin, AuthorizationRequest } from 'utility-api'

/** What clients may request, described for people. */
const scopes: Readonly<Record<string, string>> = {
  profile: 'see who you are',
  'dns:check': 'check DNS records on your behalf',
}
/** What clients may request. */
export const scopeNames: readonly string[] = Object.keys(scopes)
const pendingLifetimeMs = 10 * 60 * 1000
// What waits for an answer must have a bound.
const maxPending = 1000
const maxQueryLength = 4096

/** @param userOf - Returns who is signed in, from your own session; null for nobody. */
export function createAuthorizationPage(admin: Admin, userOf: (request: IncomingMessage) => string | null) {
  // A request waits here for the answer of its user, one for each. The form carries its key, which no page on another
  // site knows, and no other user has: none can agree on the user's behalf, nor displace what waits for others.
  const pending = new Map<string, { key: string; asked: AuthorizationRequest; until: number }>()

  async function ask(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const query = queryOf(request.url ?? '')
    if (query.length > maxQueryLength) return sendPage(response, 414, '<p>The address is too long.</p>')
    const asked = await admin.readAuthorizationRequest(new URLSearchParams(query), {
      scopes: scopeNames,
    })
    if (asked.kind === 'refuse') return sendPage(response, 400, `<p>${escapeHtml(asked.reason)}</p>`)
    const user = userOf(request)
    // Before any redirection: a stranger would be led through this address to wherever some client has registered.
    if (user === null) return sendPage(response, 401, '<p>Please sign in first.</p>')
    if (asked.kind === 'redirect') return redirect(response, asked.location)
    const key = randomBytes(32).toString('base64url')
    pending.delete(user)
    const [oldest = ''] = pending.keys()
    if (pending.size >= maxPending) pending.delete(oldest)
    // A timer for each would stay when the request is gone: their number would have no bound.
    pending.set(user, { key, asked, until: Date.now() + pendingLifetimeMs })
    sendPage(response, 200, consentForm(key, asked, user))
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = new URLSearchParams(await readText(request))
    const subject = userOf(request)
    if (subject === null) return sendPage(response, 401, '<p>Please sign in first.</p>')
    const waiting = pending.get(subject)
    if (waiting === undefined || waiting.key !== form.get('key') || waiting.until <= Date.now()) {
      return sendPage(response, 400, '<p>This form is no longer valid. Please start again.</p>')
    }
    pending.delete(subject)
    const { asked } = waiting
    const agreed = form.get('answer') === 'allow'
    const { location } = agreed
      ? await admin.grantAuthorization(asked, { subject })
      : await admin.denyAuthorization(asked)
    redirect(response, location)
  }

  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method === 'GET') await ask(request, response)
    else if (request.method === 'POST') await answer(request, response)
    else sendPage(response, 405, '<p>Only GET and POST.</p>')
  }
}

/** Returns the query as it was sent: a question mark may occur in it again. */
function queryOf(url: string): string {
  const at = url.indexOf('?')
  return at === -1 ? '' : url.slice(at + 1)
}

function redirect(response: ServerResponse, location: string): void {
  response.writeHead(303, { Location: location, 'Cache-Control': 'no-store' }).end()
}

function consentForm(key: string, asked: AuthorizationRequest, user: string): string {
  const { clientId, clientName = clientId, redirectUri, scope } = asked
  const wishes = scope
    .split(' ')
    .map((name) => `<li>${escapeHtml(scopes[name] ?? 'nothing in particular')}</li>`)
  return `<h1>${escapeHtml(clientName)} wants to</h1>
<ul>${wishes.join('')}</ul>
<form method="post" action="/authorize">
  <input type="hidden" name="key" value="${key}">
  <button name="answer" value="allow">Allow</button>
  <button name="answer" value="deny">Deny</button>
</form>
<p class="small">You are ${escapeHtml(user)}, and go back to ${escapeHtml(placeOf(redirectUri))}.</p>`
}

/** What stands behind an app's scheme is no host, whatever it looks like. */
function placeOf(redirectUri: string): string {
  const { protocol, host } = new URL(redirectUri)
  return /^https?:$/.test(protocol) ? host : `the app ${protocol.slice(0, -1)}`
}

const style = `
:root { color-scheme: light dark; --accent: #1f6f54; --line: color-mix(in srgb, currentColor 20%, transparent); }
* { box-sizing: border-box; }
body { font: 1rem/1.5 system-ui, sans-serif; width: min(24rem, 100% - 2rem); margin: 14vh auto; padding: 1.75rem;
  border: 1px solid var(--line); border-radius: 0.75rem; box-shadow: 0 0.5rem 2rem rgb(0 0 0 / 0.08); }
h1 { font-size: 1.25rem; line-height: 1.3; margin: 0 0 0.75rem; overflow-wrap: anywhere; }
ul { margin: 0 0 1.5rem; padding-left: 1.25rem; }
form { display: flex; gap: 0.75rem; }
button { flex: 1; font: inherit; padding: 0.55rem; border: 1px solid var(--line); border-radius: 0.5rem;
  background: transparent; color: inherit; cursor: pointer; }
button[value="allow"] { background: var(--accent); border-color: var(--accent); color: #fff; font-weight: 600; }
button:focus-visible { outline: 3px solid color-mix(in srgb, var(--accent) 50%, transparent); outline-offset: 2px; }
.small { font-size: 0.85rem; margin: 1.25rem 0 0; opacity: 0.7; overflow-wrap: anywhere; }
`
const styleHash = createHash('sha256').update(style).digest('base64')

function sendPage(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, {
    'Content-Type': 'text/html; charset=utf-8',
    'Cache-Control': 'no-store',
    // No other site may show this page in a frame and have its button clicked, also in a browser without that policy.
    'X-Frame-Options': 'DENY',
    'Content-Security-Policy': `default-src 'none'; style-src 'sha256-${styleHash}'; frame-ancestors 'none'`,
  })
  const head = `<meta name="viewport" content="width=device-width, initial-scale=1"><title>Authorization</title><style>${style}</style>`
  response.end(`<!doctype html><html lang="en">${head}${body}`)
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
