// Prints how lookups end where servers are reached through NAT64 alone: in a network without IPv4, whose `lo` has the
// addresses that DNS64 makes. Started by `runInOwnNetwork`.
import { execFileSync } from 'node:child_process'
import { createBlockgameClient } from 'utility-api/blockgame'
import { fakeBlockgameServer, fakeDnsServer } from 'utility-api/testing'

const listed = { name: 'play.example', ipv4: '5.5.6.1', ipv6: '64:ff9b::505:601' }
const hidden = { name: 'inside.example', ipv4: '10.0.0.1', ipv6: '64:ff9b::a00:1' }
const ip = (...args: string[]): Buffer => execFileSync('ip', args)
ip('link', 'set', 'lo', 'up')
ip('-4', 'address', 'flush', 'dev', 'lo')
for (const { ipv6 } of [listed, hidden]) ip('-6', 'address', 'add', `${ipv6}/128`, 'dev', 'lo')

const open = await fakeBlockgameServer({ ip: listed.ipv6, status: { players: { online: 3, max: 20 } } })
const closed = await fakeBlockgameServer({ ip: hidden.ipv6, port: open.port })
const resolver = await fakeDnsServer({
  ip: '::1',
  records: [listed, hidden].flatMap(({ name: host, ipv4, ipv6 }) => [
    { type: 'A', host, ttl: 60, ip: ipv4 },
    { type: 'AAAA', host, ttl: 60, ip: ipv6, ipv6 },
  ]),
})
const client = createBlockgameClient({ resolvers: [resolver] })
const outcomes = await Promise.allSettled(
  [listed, hidden].map(({ name }) => client.status({ host: name, port: open.port })),
)
const [found, refused] = outcomes.map((each) => (each.status === 'fulfilled' ? each.value : each.reason))
console.log(
  JSON.stringify([found.ip ?? found.reason, found.players, refused.reason, closed.connections.length]),
)
await Promise.all([client.close(), resolver.close(), open.close(), closed.close()])
