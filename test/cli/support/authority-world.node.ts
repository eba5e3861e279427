// Runs `dns --authority` where the zone's servers have public addresses: in a network of its own, which leads nowhere else.
// Started with `unshare --map-root-user --net`; prints how the command ended. The registry runs on NSD, as the zone does. The
// resolver still has what the zone said before, and believes the zone's old server.
import { execFileSync } from 'node:child_process'
import type { DnsRecord } from 'utility-api'
import { fakeDnsServer } from 'utility-api/testing'
import { nsdWith } from '../../dns/engines/authoritative.ts'
import { startEngine, type Engine } from '../../dns/engines/engine.ts'
import { run } from './cli.ts'

const [registryIp, oldIp, newIp, cdnIp] = ['9.9.9.51', '9.9.9.52', '9.9.9.53', '9.9.9.54'] as const
execFileSync('ip', ['link', 'set', 'lo', 'up'])
for (const ip of [registryIp, oldIp, newIp, cdnIp])
  execFileSync('ip', ['address', 'add', `${ip}/32`, 'dev', 'lo'])

const head = (zone: string, ttl = 300): string => `$ORIGIN ${zone}.
$TTL ${ttl}
@ IN SOA ns1 admin 1 7200 3600 1209600 300
`
/** What the registry delegates, at first and after a move. */
const registry = (...servers: readonly string[]): string =>
  `${head('example')}@ IN NS ns.registry
${servers.map((server) => `engines IN NS ${server}.engines`).join('\n')}
engines IN DS 2371 13 2 ${'AB'.repeat(32)}
cdn IN NS ns.cdn
old.engines IN A ${oldIp}
ns1.engines IN A ${newIp}
ns2.engines IN A 127.0.0.1
ns.cdn IN A ${cdnIp}
`
const old = `${head('engines.example', 2)}@ IN NS old
old IN A ${oldIp}
www IN A 192.0.2.7
`
const current = `${head('engines.example')}@ IN NS ns1
@ IN NS ns2
@ IN DNSKEY 257 3 13 ${Buffer.alloc(64, 7).toString('base64')}
ns1 IN A ${newIp}
ns2 IN A 127.0.0.1
www IN A 192.0.2.80
shop IN CNAME shop.cdn.example.
`
const cdn = `${head('cdn.example')}@ IN NS ns
ns IN A ${cdnIp}
shop IN A 192.0.2.90
`
const a = (host: string, ttl: number, ip: string): DnsRecord => ({ type: 'A', host, ttl, ip })
const ns = (host: string, target: string): DnsRecord => ({ type: 'NS', host, ttl: 60, target })

const [scenario = '', ...words] = process.argv.slice(2)
const isMove = scenario === 'move'
const serve = (zone: string, origin: string, ip: string): Promise<Engine> =>
  startEngine(nsdWith(zone, origin), ip, 53)

let registrar = await serve(isMove ? registry('old') : registry('ns1', 'ns2'), 'example', registryIp)
const zones = [
  await serve(old, 'engines.example', oldIp),
  await serve(current, 'engines.example', newIp),
  await serve(cdn, 'cdn.example', cdnIp),
]
await using resolver = await fakeDnsServer({
  records: [
    ns('example', 'ns.registry.example'),
    a('ns.registry.example', 60, registryIp),
    ns('engines.example', 'old.engines.example'),
    a('old.engines.example', 60, oldIp),
    a('ns1.engines.example', 60, newIp),
    a('ns2.engines.example', 60, '127.0.0.1'),
    a('ns.cdn.example', 60, cdnIp),
    a('www.engines.example', isMove ? 1 : 41, isMove ? '192.0.2.80' : '192.0.2.7'),
    a('shop.engines.example', 41, '192.0.2.90'),
  ],
})
const moving = isMove ? setTimeout(() => void move(), 2500) : undefined
async function move(): Promise<void> {
  await registrar[Symbol.asyncDispose]()
  registrar = await serve(registry('ns1', 'ns2'), 'example', registryIp)
}
const dead = scenario === 'second-resolver' ? ['--server', 'dead=127.0.0.1:9'] : []
const servers = [...dead, '--server', `cache=127.0.0.1:${resolver.port}`]
console.log(JSON.stringify(await run(['dns', ...words, '--authority', ...servers])))
clearTimeout(moving)
await Promise.all([registrar, ...zones].map((each) => each[Symbol.asyncDispose]()))
