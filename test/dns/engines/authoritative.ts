import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { EngineSpec } from './engine.ts'
import { origin, zoneFor } from './zone.ts'

const zoneName = 'zone'
/** Zones by their origin, without a final dot. */
type Zones = Readonly<Record<string, string>>
const usual: Zones = { [origin]: zoneFor() }

interface BindOptions {
  readonly name: string
  /** Further lines of its options. */
  readonly options?: string
  /** Each in a file named like its origin. */
  readonly zones?: Zones
}

export function bind({ name, options = '', zones = usual }: BindOptions): EngineSpec {
  const origins = Object.keys(zones)
  return {
    name,
    program: 'named',
    debian: 'bind9',
    serves: origins[0] ?? '.',
    setUp({ folder, ip, port, write }) {
      for (const [each, text] of Object.entries(zones)) write(`${each}.zone`, text)
      const config = write(
        'named.conf',
        `options {
  directory "${folder}";
  listen-on port ${port} { ${ip}; };
  listen-on-v6 { none; };
  recursion no;
  dnssec-validation no;
  pid-file none;
  session-keyfile none;
${options}};
controls { };
${origins
  .map(
    (each) => `zone "${each}" { type primary; file "${each}.zone"; check-names ignore; check-integrity no; };
`,
  )
  .join('')}`,
      )
      return ['-g', '-c', config]
    },
  }
}

/** NSD with a zone file. */
export const nsdWith = (zone: string, zoneOrigin: string = origin): EngineSpec => ({
  name: 'NSD',
  program: 'nsd',
  debian: 'nsd',
  serves: zoneOrigin,
  setUp({ folder, ip, port, write }) {
    write(zoneName, zone)
    const config = write(
      'nsd.conf',
      `server:
  ip-address: ${ip}@${port}
  username: ""
  chroot: ""
  zonesdir: "${folder}"
  pidfile: "${folder}/pid"
  xfrdfile: "${folder}/xfrd"
  zonelistfile: "${folder}/zonelist"
  database: ""
  server-count: 1
remote-control:
  control-enable: no
zone:
  name: ${zoneOrigin}
  zonefile: ${zoneName}
`,
    )
    return ['-d', '-c', config]
  },
})

interface KnotOptions {
  readonly name: string
  /** Sections before the zone's. */
  readonly modules?: string
  /** Lines of the zone's section. */
  readonly zone?: string
}

function knot({ name, modules = '', zone = '' }: KnotOptions): EngineSpec {
  return {
    name,
    program: 'knotd',
    debian: 'knot',
    serves: origin,
    setUp({ folder, ip, port, write }) {
      write(zoneName, zoneFor())
      const config = write(
        'knot.conf',
        `server:
  rundir: "${folder}"
  listen: ${ip}@${port}
  udp-workers: 1
  tcp-workers: 1
database:
  storage: "${folder}"
log:
  - target: stderr
    any: error
${modules}zone:
  - domain: ${origin}
    storage: "${folder}"
    file: ${zoneName}
${zone}`,
      )
      return ['-c', config]
    },
  }
}

export const powerDnsWith = (zones: Zones): EngineSpec => ({
  name: 'PowerDNS',
  program: 'pdns_server',
  debian: 'pdns-server, pdns-backend-bind',
  serves: Object.keys(zones)[0] ?? '.',
  setUp({ folder, ip, port, write }) {
    const lines = Object.entries(zones).map(
      ([each, text]) => `zone "${each}" { type native; file "${write(`${each}.zone`, text)}"; };\n`,
    )
    const named = write('named.conf', lines.join(''))
    write(
      'pdns.conf',
      [
        'launch=bind',
        `bind-config=${named}`,
        `local-address=${ip}`,
        `local-port=${port}`,
        'daemon=no',
        'guardian=no',
        'disable-syslog=yes',
        'write-pid=no',
        'dname-processing=yes',
        'security-poll-suffix=',
        `socket-dir=${folder}`,
        '',
      ].join('\n'),
    )
    return [`--config-dir=${folder}`]
  },
})

const gdnsd: EngineSpec = {
  name: 'gdnsd',
  program: 'gdnsd',
  debian: 'gdnsd',
  serves: origin,
  setUp({ folder, ip, port, write }) {
    mkdirSync(join(folder, 'zones'))
    write(`zones/${origin}`, zoneFor('odd', 'others', 'signed'))
    write(
      'config',
      `options => {
  listen => [ "${ip}:${port}" ],
  run_dir => "${folder}",
  state_dir => "${folder}",
}
`,
    )
    return ['-c', folder, 'start']
  },
}

/** Servers of the zone, some with limits that make clients ask again. */
export const authoritative: readonly EngineSpec[] = [
  bind({ name: 'BIND' }),
  bind({
    name: 'BIND, cookies required, limited',
    options: '  require-server-cookie yes;\n  rate-limit { responses-per-second 1; slip 1; window 2; };\n',
  }),
  nsdWith(zoneFor()),
  knot({ name: 'Knot DNS' }),
  knot({
    name: 'Knot DNS, cookies, limited',
    modules: `mod-rrl:
  - id: limited
    rate-limit: 1
    slip: 1
mod-cookies:
  - id: cookies
`,
    zone: '    module: [mod-cookies/cookies, mod-rrl/limited]\n',
  }),
  powerDnsWith(usual),
  gdnsd,
]
