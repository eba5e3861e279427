import { isIPv4, isIPv6 } from 'node:net'

/**
 * Returns the octets of an IPv4 (4) or IPv6 (16) address in its standard text form, or null for anything else,
 * including addresses with a zone.
 */
export function parseIpAddress(text: string): Uint8Array | null {
  if (isIPv4(text)) return parseIpv4(text)
  if (isIPv6(text) && !text.includes('%')) return parseIpv6(text)
  return null
}

/** On this machine only: `fe80::1%eth0` is a neighbor at the interface `eth0`. */
const linkLocal = /^fe[89ab][0-9a-f]:[0-9a-f:.]*(?=%[\w.:@-]{1,64}$)/i

/** Tells whether a text is the address of a DNS server to ask: an IP address, and a link-local one may name its interface. */
export function isDnsServerAddress(text: string): boolean {
  return parseIpAddress(linkLocal.exec(text)?.[0] ?? text) !== null
}

function parseIpv4(text: string): Uint8Array {
  return Uint8Array.from(text.split('.'), Number)
}

function parseIpv6(text: string): Uint8Array {
  const [head = '', tail] = text.split('::')
  const before = parseGroups(head)
  const after = tail === undefined ? [] : parseGroups(tail)
  const octets = new Uint8Array(16)
  octets.set(before)
  octets.set(after, 16 - after.length)
  return octets
}

function parseGroups(text: string): number[] {
  if (text === '') return []
  return text.split(':').flatMap((group) => {
    if (group.includes('.')) return group.split('.').map(Number)
    const value = Number.parseInt(group, 16)
    return [value >> 8, value & 0xff]
  })
}

/**
 * Returns the canonical text of an address: dotted decimal, or RFC 5952 for IPv6.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc5952#section-4 | RFC 5952 section 4}
 */
export function formatIpAddress(octets: Uint8Array): string {
  return octets.length === 4 ? octets.join('.') : formatIpv6(octets)
}

/** Returns the canonical text of an address in any of its text forms, or null for anything else. */
export function canonicalIpAddress(text: string): string | null {
  if (isIPv4(text)) return text
  const octets = parseIpAddress(text)
  return octets && formatIpAddress(octets)
}

function formatIpv6(octets: Uint8Array): string {
  if (startsWith(octets, mappedPrefix)) return `::ffff:${octets.subarray(12).join('.')}`
  // Not `Array.from` with a function: a hostile answer has thousands of addresses.
  const groups: number[] = []
  for (let at = 0; at < 16; at += 2) groups.push(((octets[at] ?? 0) << 8) | (octets[at + 1] ?? 0))
  const { start, length } = longestZeroRun(groups)
  const hex = groups.map((group) => group.toString(16))
  if (length < 2) return hex.join(':')
  return `${hex.slice(0, start).join(':')}::${hex.slice(start + length).join(':')}`
}

function longestZeroRun(groups: readonly number[]): { start: number; length: number } {
  let best = { start: 0, length: 0 }
  let length = 0
  groups.forEach((group, index) => {
    length = group === 0 ? length + 1 : 0
    if (length > best.length) best = { start: index - length + 1, length }
  })
  return best
}

const mappedPrefix: Uint8Array = Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff)

function startsWith(octets: Uint8Array, prefix: Uint8Array): boolean {
  return prefix.every((octet, index) => octets[index] === octet)
}

/** Returns the four octets of an IPv4 address that is written as an IPv6 address, and any other address as it is. */
export function withoutMapping(octets: Uint8Array): Uint8Array {
  return octets.length === 16 && startsWith(octets, mappedPrefix) ? octets.subarray(12) : octets
}

/** Returns the name of the PTR question for an address: `4.3.2.1.in-addr.arpa`, or 32 nibbles under `ip6.arpa`. */
export function reverseName(octets: Uint8Array): string {
  if (octets.length === 4) return `${octets.toReversed().join('.')}.in-addr.arpa`
  const nibbles = Array.from(
    octets.toReversed(),
    (octet) => `${(octet & 0xf).toString(16)}.${(octet >> 4).toString(16)}`,
  )
  return `${nibbles.join('.')}.ip6.arpa`
}

/** A range of addresses that share their first bits. */
export interface Network {
  readonly octets: Uint8Array
  readonly prefixLength: number
}

/** Parses a network such as `192.0.2.0/24`. Returns null for anything else. */
export function parseNetwork(text: string): Network | null {
  const [address = '', length = '', ...rest] = text.split('/')
  const octets = parseIpAddress(address)
  if (octets === null || rest.length > 0 || !/^\d{1,3}$/.test(length)) return null
  const prefixLength = Number(length)
  return prefixLength <= octets.length * 8 ? { octets, prefixLength } : null
}

/**
 * Parses one of the networks written below. Does not use `isIPv6`, whose regular expression would cost every import of
 * this file 5 ms to compile.
 */
function network(cidr: string): Network {
  const [address = '', prefixLength] = cidr.split('/')
  const octets = address.includes(':') ? parseIpv6(address) : parseIpv4(address)
  return { octets, prefixLength: Number(prefixLength) }
}

function contains({ octets, prefixLength }: Network, address: Uint8Array): boolean {
  for (let bit = 0; bit < prefixLength; bit += 8) {
    const index = bit >> 3
    const mask = 0xff << Math.max(0, 8 - (prefixLength - bit))
    if ((((octets[index] ?? 0) ^ (address[index] ?? 0)) & mask & 0xff) !== 0) return false
  }
  return true
}

const closedIpv4: readonly Network[] = [
  '0.0.0.0/8', // this network
  '10.0.0.0/8', // private
  '100.64.0.0/10', // carrier-grade NAT
  '127.0.0.0/8', // loopback
  '168.63.129.16/32', // Azure's wire server: a public address that answers every virtual machine there from within
  '169.254.0.0/16', // link local, cloud metadata services
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private
  '198.18.0.0/15', // benchmarking
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, broadcast
].map(network)

/**
 * The addresses that DNS64 makes for IPv4 servers, where a host has IPv6 alone.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc6052#section-2.1 | RFC 6052 section 2.1}
 */
const nat64: Network = network('64:ff9b::/96')

const globalIpv6: Network = network('2000::/3')

const closedIpv6: readonly Network[] = [
  '2001::/23', // Teredo, ORCHID, benchmarking
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4: an IPv4 address in disguise
  '3fff::/20', // documentation
].map(network)

/**
 * Tells whether an address has an interface identifier of ISATAP (RFC 5214 section 6.1), under any prefix: an IPv4
 * address in disguise.
 */
function isIsatap(octets: Uint8Array): boolean {
  const [flags, zero, high, low] = octets.subarray(8)
  return (flags === 0 || flags === 2) && zero === 0 && high === 0x5e && low === 0xfe
}

/**
 * Tells whether an address is public unicast: reachable on the internet and nothing else.
 *
 * Private, loopback, link-local, shared, documentation, benchmarking, multicast and reserved ranges are not, nor is
 * IPv4 inside IPv6 (mapped, compatible, local NAT64, 6to4, Teredo, ISATAP), nor Azure's wire server (168.63.129.16).
 * Only an address of the well-known prefix of NAT64, `64:ff9b::/96`, is as public as the IPv4 address in it. Text that is
 * not an address is not public either.
 *
 * @param ip - An IPv4 or IPv6 address in its standard text form, without zone or brackets.
 *
 * @example
 * ```ts
 * isPublicAddress('1.1.1.1') // true
 * isPublicAddress('::ffff:127.0.0.1') // false
 * ```
 *
 * @see {@link https://www.iana.org/assignments/iana-ipv4-special-registry/ | IANA IPv4 special-purpose registry}
 * @see {@link https://www.iana.org/assignments/iana-ipv6-special-registry/ | IANA IPv6 special-purpose registry}
 *
 * @group Minecraft
 */
export function isPublicAddress(ip: string): boolean {
  const octets = parseIpAddress(ip)
  if (octets === null) return false
  if (octets.length === 4) return isPublicIpv4(octets)
  if (contains(nat64, octets)) return isPublicIpv4(octets.subarray(12))
  if (!contains(globalIpv6, octets) || isIsatap(octets)) return false
  return !closedIpv6.some((closed) => contains(closed, octets))
}

function isPublicIpv4(octets: Uint8Array): boolean {
  return !closedIpv4.some((closed) => contains(closed, octets))
}
