import { isIP } from 'node:net'

/**
 * Returns the address of a client behind proxies: the one that the outermost trusted proxy saw, or else the
 * connection's.
 */
export function forwardedAddress(
  connection: string | undefined,
  trustProxy: number,
  header: (name: string) => string | null,
): string | undefined {
  if (trustProxy === 0) return connection
  const hops = (header('X-Forwarded-For') ?? '').split(',')
  return addressIn(hops.at(-trustProxy) ?? hops[0] ?? '') ?? connection
}

/** Returns the address in what a proxy wrote, or undefined if there is none. */
export function addressIn(hop: string): string | undefined {
  const address = withoutPort(hop.trim())
  return isIP(address) === 0 ? undefined : address
}

/** Removes what some proxies add: the port, which is new for each connection, and brackets around IPv6. */
function withoutPort(hop: string): string {
  const [, bracketed, ipv4] = /^(?:\[(.+)\](?::\d+)?|([\d.]+):\d+)$/.exec(hop) ?? []
  return bracketed ?? ipv4 ?? hop
}
