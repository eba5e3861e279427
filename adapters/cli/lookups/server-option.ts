import { isIP } from 'node:net'
import type { ResolverLocation } from 'utility-api'
import { UsageError } from '../terminal/command.ts'
import { list } from '../terminal/option-values.ts'

/** Returns the resolvers that `--server` names, each time it is given. */
export function locationsOf(...servers: readonly string[]): ResolverLocation[] {
  return servers.flatMap(list).map(locationOf)
}

const linkLocal = /^fe[89ab]/i

function locationOf(text: string): ResolverLocation {
  const [, label, address = ''] = /^(?:([^=]*)=)?(.*)$/s.exec(text) ?? []
  const [, bracketed, plain, port = '53'] = /^(?:\[(.*)\]|([^:]*))(?::(\d{1,5}))?$/.exec(address) ?? []
  const ip = bracketed ?? plain ?? address
  // Only link-local addresses (fe80::1%eth0) have a zone.
  const hasZone = ip.includes('%') && !linkLocal.test(ip)
  if (isIP(ip) === 0 || hasZone || Number(port) < 1 || Number(port) > 65_535 || label === '') {
    throw new UsageError(
      `--server: "${text}" is not a resolver: IP, IPv4:PORT or [IPv6]:PORT, each optionally after LABEL=.`,
    )
  }
  const name = label ?? addressOf({ ip, port: Number(port) })
  return { location: name, ip, provider: name, port: Number(port) }
}

/** Formats an address the way `--server` takes it. */
export function addressOf({ ip, port = 53 }: Pick<ResolverLocation, 'ip' | 'port'>): string {
  if (port === 53) return ip
  return ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`
}
