import type { Client } from '../domain/credentials.ts'
import { demand } from '../domain/arguments.ts'
import { isSecureUrl } from '../domain/secure-url.ts'

const userInformation = /(?<=^[^:/?#]+:\/\/)[^/?#]*@/

/**
 * What may not stand in a redirection URI, by name. Each has led a parser to a host other than the one a person reads,
 * has broken out of the page that prints it, or promises a comparison that is not made.
 *
 * @see RFC 3986 section 2, RFC 6749 section 3.1.2, RFC 9700 section 4.1.3
 */
const refusedParts: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/[^\x21-\x7e]/, 'a space, a control character or one outside ASCII'],
  [/\\/, 'a backslash'],
  [/["'`]/, 'a quote'],
  [/[<>]/, 'an angle bracket'],
  [/[*{}]/, 'a wildcard'],
  [/#/, 'a fragment'],
  [userInformation, 'user information'],
]

/** The longest that a store must hold. */
const longestUri = 2048

/** What the page's answer adds. There would be two, and a client may read the one that was registered. */
const answerParameters = ['code', 'state', 'iss', 'error', 'error_description']

/** Returns the name of the first thing in a URI that may not stand there, or undefined. */
function refusedPart(uri: string): string | undefined {
  const part = refusedParts.find(([pattern]) => pattern.test(uri))?.[1]
  if (part !== undefined || !uri.includes('?')) return part
  const own = new URLSearchParams(uri.slice(uri.indexOf('?')))
  const taken = answerParameters.find((name) => own.has(name))
  return taken === undefined ? undefined : `the parameter ${taken}, which the answer has`
}

/**
 * Tells whether a code may be sent to this URI: over TLS, within the machine, or to an app by its own scheme. A scheme
 * without a dot belongs to nobody, and `javascript:` and `data:` would run as one of the owner's pages.
 *
 * @see RFC 6749 section 3.1.2, RFC 8252 sections 7 and 8.4, RFC 9700 section 2.6
 */
export function isRedirectUri(text: string): boolean {
  if (text.length > longestUri || refusedPart(text) !== undefined) return false
  if (/^https?:/i.test(text)) return isSecureUrl(text)
  return URL.canParse(text) && new URL(text).protocol.includes('.')
}

// A port is left out only in front of a path, a query or the end, because what follows `:80@` would be the host.
const loopbackPort = /^(http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])):\d{1,5}(?=[/?]|$)/

/**
 * Tells whether the client may be answered at this URI: compared byte for byte, except for the port on the user's own
 * machine, which a native program gets anew each time.
 *
 * @see RFC 8252 section 7.3, RFC 9700 sections 2.1 and 4.1.3
 */
export function isRegistered(redirectUri: string, { redirectUris }: Client): boolean {
  // A port makes it longer than the one that is registered.
  if (redirectUri.length > longestUri) return false
  const asked = withoutPort(redirectUri)
  return redirectUris.some((each) => withoutPort(each) === asked)
}

/** Not through URL, which takes different texts for the same address. */
function withoutPort(uri: string): string {
  return uri.replace(loopbackPort, '$1')
}

const maxRedirectUris = 10

export function demandRedirectUris(uris: readonly string[]): void {
  demand(uris.length <= maxRedirectUris, `redirectUris: there must be at most ${maxRedirectUris}.`)
  for (const uri of uris) {
    // User information may be a password.
    const shown = uri.replace(userInformation, '…@').slice(0, 255)
    const part = refusedPart(uri)
    demand(part === undefined, `redirectUris: "${shown}" must not have ${part} in it.`)
    const rule = 'must be an absolute https URI, http on loopback, or an app scheme with a dot'
    demand(isRedirectUri(uri), `redirectUris: "${shown}" ${rule}.`)
  }
}
