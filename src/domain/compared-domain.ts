import { invalidArgument } from './arguments.ts'
import { longestName, parseHostName } from './host-name.ts'
import type { Compared, LicensePatch } from './license.ts'
import { formatIpAddress, parseIpAddress, withoutMapping } from './ip-address.ts'

const wildcard = '*.'
const www = 'www.'

/**
 * Returns the form in which what a license is bound to is compared and found. Two texts with the same form name the
 * same host. The form of a form is itself, and has at most 255 characters.
 *
 * Host names are in lower-case ASCII (IDNA) without a final dot. IP addresses are in the canonical text of their octets,
 * and an IPv4 address in IPv6 (`::ffff:192.0.2.1`) is that IPv4 address. The name after `*.` is compared like any other.
 * Text that is neither is its own form.
 *
 * @throws `UtilityApiError` `invalid_argument` if it is not a string
 *
 * @example
 * ```ts
 * import { comparedDomain } from 'utility-api/storage'
 *
 * comparedDomain('MÜNCHEN.example.') // 'xn--mnchen-3ya.example'
 * comparedDomain('2001:DB8:0::1') // '2001:db8::1'
 * ```
 *
 * @group Storage
 */
export function comparedDomain(domainOrIp: string): string {
  if (typeof domainOrIp !== 'string') throw invalidArgument('domainOrIp must be a string.')
  // Names first: most texts are names, and no address is one.
  if (!domainOrIp.startsWith(wildcard)) return parseName(domainOrIp) ?? comparedIp(domainOrIp) ?? domainOrIp
  const name = parseName(domainOrIp.slice(wildcard.length))
  return name === null ? domainOrIp : wildcard + name
}

/** Adds the compared form to a change that has a new domain. */
export function compared<Change extends LicensePatch>(change: Change): Compared<Change> {
  if (change.domainOrIp === undefined) return change
  return { ...change, comparedDomain: comparedDomain(change.domainOrIp) }
}

function parseName(text: string): string | null {
  return parseHostName(text, { underscores: true })
}

function comparedIp(text: string): string | null {
  const octets = parseIpAddress(text)
  return octets && formatIpAddress(withoutMapping(octets))
}

/**
 * Returns the compared forms of all that can cover a host: its own, and for a name of several labels the wildcard one
 * level up and its twins with one `www.` more or less. Returns none for text that is no host.
 */
function coveringForms(host: string): readonly string[] {
  const name = parseName(host)
  if (name === null) return [comparedIp(host)].filter((form) => form !== null)
  const dot = name.indexOf('.')
  if (dot === -1) return [name]
  const bare = name.startsWith(www) ? name.slice(www.length) : ''
  const twins = [www + name, bare].filter((twin) => twin.includes('.') && twin.length <= longestName)
  return [name, wildcard + name.slice(dot + 1), ...twins]
}

/** Returns the compared forms of the licenses that a search for a domain, an address or a wildcard finds. */
export function searchedForms(domainOrIp: string): readonly string[] {
  if (!domainOrIp.startsWith(wildcard)) return coveringForms(domainOrIp)
  const name = parseName(domainOrIp.slice(wildcard.length))
  return name === null ? [] : [wildcard + name]
}

// The colon is looked for once, because between two parts that may hold one too, it would be tried at each place.
const bracketed = /^\[(?=[^\]]*:)([^[\]]*)\](?::(\d*))?$/
const nameAndPort = /^([^:]*):(\d*)$/

/** Returns the host of a `Host` header, of a URL's authority or of a bare host, or null if its port is none. */
function hostWithoutPort(text: string): string | null {
  const [, host = text, port = ''] = bracketed.exec(text) ?? nameAndPort.exec(text) ?? []
  return Number(port) <= 65_535 ? host : null
}

/**
 * Tells whether a license for `domainOrIp` is for this host. It says nothing of the license's status.
 *
 * Names are compared in their ASCII form, without case, final dot and port; IP addresses by their octets. A name also
 * covers the one with `www.` before it, and the other way round. `*.example.com` covers each name with exactly one more
 * label, and not `example.com` itself. Text that names no host is covered by nothing and covers nothing.
 *
 * @param domainOrIp - What the license is bound to: `License.domainOrIp`.
 * @param host - Where the software runs: a host name or an IP address, with or without a port, as in a `Host` header.
 *
 * @throws `UtilityApiError` `invalid_argument` if one of them is not a string
 *
 * @example
 * ```ts
 * coversHost('münchen.example', 'xn--mnchen-3ya.example:8080') // true
 * coversHost('shop.example', 'www.shop.example') // true
 * coversHost('*.shop.example', 'eu.shop.example') // true
 * coversHost('*.shop.example', 'shop.example') // false
 * ```
 *
 * @see docs/contract.md
 *
 * @group Licenses
 */
export function coversHost(domainOrIp: string, host: string): boolean {
  for (const [name, value] of Object.entries({ domainOrIp, host })) {
    if (typeof value !== 'string') throw invalidArgument(`${name} must be a string.`)
  }
  const bare = hostWithoutPort(host)
  return bare !== null && coveringForms(bare).includes(comparedDomain(domainOrIp))
}
