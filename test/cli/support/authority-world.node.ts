// Runs `dns --authority` where the zone's server has a public address: in a network of its own, which leads nowhere else.
// Started with `unshare --map-root-user --net`; prints how the command ended.
import { execFileSync } from 'node:child_process'
import type { DnsRecord } from 'utility-api'
import { fakeDnsServer } from 'utility-api/testing'
import { nsdWith } from '../../dns/engines/authoritative.ts'
import { startEngine } from '../../dns/engines/engine.ts'
import { origin } from '../../dns/engines/zone.ts'
import { run } from './cli.ts'

const publicIp = '9.9.9.53'
execFileSync('ip', ['link', 'set', 'lo', 'up'])
execFileSync('ip', ['address', 'add', `${publicIp}/32`, 'dev', 'lo'])

const zone = `$ORIGIN ${origin}.
$TTL 300
@ IN SOA ns1 admin 1 7200 3600 1209600 300
@ IN NS ns1
@ IN NS ns2
ns1 IN A ${publicIp}
ns2 IN A 127.0.0.1
www IN A 192.0.2.80
`
const a = (host: string, ttl: number, ip: string): DnsRecord => ({ type: 'A', host, ttl, ip })
const ns = (target: string): DnsRecord => ({ type: 'NS', host: origin, ttl: 60, target })

await using server = await startEngine(nsdWith(zone), publicIp, 53)
await using resolver = await fakeDnsServer({
  records: [
    ns(`ns1.${origin}`),
    ns(`ns2.${origin}`),
    a(`ns1.${origin}`, 60, server.ip),
    a(`ns2.${origin}`, 60, '127.0.0.1'),
    // What the zone said before.
    a(`www.${origin}`, 41, '192.0.2.7'),
  ],
})
const words = ['dns', `www.${origin}`, '--authority', '--expect', '192.0.2.80', ...process.argv.slice(2)]
console.log(JSON.stringify(await run([...words, '--server', `cache=127.0.0.1:${resolver.port}`])))
