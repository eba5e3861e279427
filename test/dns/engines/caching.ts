import { userInfo } from 'node:os'
import type { EngineSpec } from './engine.ts'

/** A zone and the server that a resolver is to ask for it. */
export interface Forwarding {
  readonly zones: readonly string[]
  readonly server: { readonly ip: string; readonly port: number }
}

/** How a resolver is to differ from its defaults. */
interface Limits {
  /** The longest time for which it may keep anything, in seconds; only Unbound and BIND then show TTLs that hold. */
  readonly maxTtl?: number
  /** Further lines of the configuration, of Unbound in its server section. With some, BIND validates. */
  readonly further?: string
}

type CachingSpec = (name: string, forwarding: Forwarding, limits?: Limits) => EngineSpec

const lines = (all: readonly string[], indent = ''): string =>
  all.map((line) => `${indent}${line}\n`).join('')

export const unbound: CachingSpec = (
  name,
  forwarding,
  { maxTtl, further = '  module-config: "iterator"\n' } = {},
) => ({
  name,
  program: 'unbound',
  debian: 'unbound',
  setUp({ folder, ip, port, write }) {
    const { zones, server } = forwarding
    const config = write(
      'unbound.conf',
      `server:
  interface: ${ip}@${port}
  port: ${port}
  outgoing-interface: 127.0.0.1
  do-daemonize: no
  username: ""
  chroot: ""
  directory: "${folder}"
  pidfile: ""
  use-syslog: no
  access-control: 127.0.0.0/8 allow
  access-control: ::1 allow
  do-not-query-localhost: no
${further}${maxTtl === undefined ? '' : `  cache-max-ttl: ${maxTtl}\n  cache-max-negative-ttl: ${maxTtl}\n`}${lines(
        zones.map((zone) => `local-zone: "${zone}" nodefault`),
        '  ',
      )}${zones.map((zone) => `forward-zone:\n  name: "${zone}"\n  forward-addr: ${server.ip}@${server.port}\n`).join('')}remote-control:
  control-enable: no
`,
    )
    return ['-d', '-c', config]
  },
})

export const powerDnsRecursor: CachingSpec = (name, forwarding, { further = '' } = {}) => ({
  name,
  program: 'pdns_recursor',
  debian: 'pdns-recursor',
  setUp({ folder, ip, port, write }) {
    const { zones, server } = forwarding
    const at = `${server.ip}:${server.port}`
    write(
      'recursor.conf',
      lines([
        `local-address=${ip}`,
        `local-port=${port}`,
        'query-local-address=127.0.0.1',
        `forward-zones-recurse=${zones.map((zone) => `${zone}=${at}`).join(',')}`,
        'dont-query=',
        'allow-from=127.0.0.0/8,::1',
        'daemon=no',
        'write-pid=no',
        'disable-syslog=yes',
        'dnssec=off',
        'threads=1',
        'serve-rfc1918=no',
        'security-poll-suffix=',
        'root-nx-trust=no',
        `socket-dir=${folder}`,
        further,
      ]),
    )
    return [`--config-dir=${folder}`]
  },
})

export const knotResolver: CachingSpec = (name, forwarding, { further = '' } = {}) => ({
  name,
  program: 'kresd',
  debian: 'knot-resolver',
  setUp({ folder, ip, port, write }) {
    const { zones, server } = forwarding
    const config = write(
      'kresd.conf',
      `net.listen('${ip}', ${port}, { kind = 'dns' })
net.outgoing_v4('127.0.0.1')
for _, name in ipairs({ 'ta_update', 'ta_signal_query', 'priming', 'detect_time_skew', 'detect_time_jump' }) do
  modules.unload(name)
end
trust_anchors.remove('.')
cache.size = 20 * MB
cache.min_ttl(0)
${further}policy.add(policy.suffix(policy.FORWARD('${server.ip}@${server.port}'), policy.todnames({ ${zones.map((zone) => `'${zone}'`).join(', ')} })))
`,
    )
    return ['-n', '-c', config, folder]
  },
})

export const dnsmasq: CachingSpec = (name, forwarding) => ({
  name,
  program: 'dnsmasq',
  debian: 'dnsmasq-base',
  setUp({ ip, port }) {
    const { zones, server } = forwarding
    return [
      '--keep-in-foreground',
      '--conf-file=/dev/null',
      `--user=${userInfo().username}`,
      '--no-resolv',
      '--no-hosts',
      '--no-poll',
      `--listen-address=${ip}`,
      '--bind-interfaces',
      `--port=${port}`,
      '--pid-file=',
      '--log-facility=/dev/null',
      '--cache-size=10000',
      '--dns-forward-max=1000',
      ...zones.map((zone) => `--server=${zone === '.' ? '' : `/${zone}/`}${server.ip}#${server.port}`),
    ]
  },
})

export const bindResolver: CachingSpec = (name, forwarding, { maxTtl, further = '' } = {}) => ({
  name,
  program: 'named',
  debian: 'bind9',
  setUp({ folder, ip, port, write }) {
    const { zones, server } = forwarding
    const family = ip.includes(':') ? 'listen-on-v6' : 'listen-on'
    const config = write(
      'named.conf',
      `options {
  directory "${folder}";
  ${family} port ${port} { ${ip}; };
  ${family === 'listen-on' ? 'listen-on-v6' : 'listen-on'} { none; };
  query-source address 127.0.0.1;
  recursion yes;
  allow-query { any; };
  dnssec-validation ${further === '' ? 'no' : 'yes'};
  empty-zones-enable no;
  pid-file none;
  session-keyfile none;
  max-cache-size 64m;
${maxTtl === undefined ? '' : `  max-cache-ttl ${maxTtl};\n  max-ncache-ttl ${maxTtl};\n`}};
controls { };
${further}${zones.map((zone) => `zone "${zone}" { type forward; forward only; forwarders { ${server.ip} port ${server.port}; }; };\n`).join('')}`,
    )
    return ['-g', '-c', config]
  },
})
