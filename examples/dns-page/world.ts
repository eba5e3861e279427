// Ten resolvers on this machine, so that the example runs without asking anybody else's. A record changed in their world a
// moment ago, and each learns of it when what it keeps has expired.
import type { DnsRecord, ResolverLocation } from 'utility-api'
import { fakeDnsServer, type FakeDnsServerOptions } from 'utility-api/testing'

const ttl = 120
const moved = { type: 'A', host: 'shop.example', ttl, ip: '203.0.113.20' } as const
const mail = { type: 'MX', host: 'shop.example', ttl, pri: 10, target: 'mail.shop.example' } as const
const places = [
  'Amsterdam, NL',
  'Frankfurt, DE',
  'Johannesburg, ZA',
  'London, GB',
  'Mumbai, IN',
  'New York, US',
  'São Paulo, BR',
  'Singapore, SG',
  'Sydney, AU',
  'Tokyo, JP',
]

/** Starts the resolvers. Four have learned already, and one never answers. */
export async function startWorld(): Promise<{ locations: ResolverLocation[]; close(): Promise<void> }> {
  const changedAt = Date.now() - ttl * 400
  const servers = await Promise.all(
    places.map((_, index) => {
      const keptUntil = changedAt + ((index * 7 + 3) % 10) * ttl * 100
      return fakeDnsServer(index === 4 ? { reply: () => null } : caching(keptUntil, index * 40))
    }),
  )
  const locations = places.map((location, index) => ({
    location,
    ip: '127.0.0.1',
    provider: `Resolver ${index + 1}`,
    port: servers[index]?.port ?? 53,
  }))
  return {
    locations,
    close: async () => void (await Promise.all(servers.map((server) => server.close()))),
  }
}

/** Answers with the old address, counting its TTL down, until it has expired. */
function caching(keptUntil: number, delayMs: number): FakeDnsServerOptions {
  const addresses = (): DnsRecord[] => {
    const left = Math.ceil((keptUntil - Date.now()) / 1000)
    return left > 0 ? [{ ...moved, ttl: left, ip: '198.51.100.7' }] : [moved]
  }
  return {
    records: [moved, mail],
    delayMs,
    reply: (query) =>
      query.name === moved.host && query.type === 'A' ? query.answer({ records: addresses() }) : undefined,
  }
}
