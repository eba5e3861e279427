import { formatIpAddress, parseIpAddress, withoutMapping } from '../domain/ip-address.ts'

/**
 * Returns the key that a sender is counted under: the address, or for IPv6 its 64-bit network, because one sender has all
 * addresses of such a network.
 */
export function addressKey(ip: string): string {
  // The zone of a link-local address is a name of our own network.
  const [withoutZone = ''] = ip.split('%')
  const parsed = parseIpAddress(withoutZone)
  if (parsed === null) return `address:${ip}`
  const octets = withoutMapping(parsed)
  return octets.length === 4
    ? `address:${formatIpAddress(octets)}`
    : `address:${formatIpAddress(octets.fill(0, 8))}/64`
}
