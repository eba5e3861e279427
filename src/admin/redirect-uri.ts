import type { Client } from '../domain/access.ts'
import { demand } from '../domain/arguments.ts'

/**
 * Tells whether a code may be sent to this URI: over TLS, within the machine, or to an app by its own scheme. A scheme
 * without a dot belongs to nobody, and `javascript:` and `data:` would run as one of the owner's pages.
 *
 * @see RFC 6749 section 3.1.2, RFC 8252 sections 7 and 8.4, RFC 9700 section 2.6
 */
export function isRedirectUri(text: string): boolean {
  if (!/^[\x21\x22\x24-\x7e]{1,2048}$/.test(text) || !URL.canParse(text)) return false
  const { protocol, hostname } = new URL(text)
  if (!/^https?:$/.test(protocol)) return protocol.includes('.')
  if (!/^https?:\/\/[^/\\]/i.test(text)) return false
  return protocol === 'https:' || /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname)
}

/** Tells whether the client may be answered at this URI, compared byte for byte (RFC 9700 section 4.1.3). */
export function isRegistered(redirectUri: string, { redirectUris }: Client): boolean {
  return redirectUris.includes(redirectUri)
}

const maxRedirectUris = 10

export function demandRedirectUris(uris: readonly string[]): void {
  demand(uris.length <= maxRedirectUris, `redirectUris: there must be at most ${maxRedirectUris}.`)
  const wrong = uris.find((uri) => !isRedirectUri(uri))
  const rule = 'must be an absolute https URI without fragment, http on loopback, or an app scheme with a dot'
  demand(wrong === undefined, `redirectUris: "${wrong?.slice(0, 255)}" ${rule}.`)
}
