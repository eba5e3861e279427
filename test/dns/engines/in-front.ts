import type { Engine, EngineSpec } from './engine.ts'
import { origin } from './zone.ts'

type Server = Pick<Engine, 'ip' | 'port'>

function dnsdistWith(name: string, servers: readonly Server[], further: string): EngineSpec {
  return {
    name,
    program: 'dnsdist',
    debian: 'dnsdist',
    setUp({ ip, port, write }) {
      const config = write(
        'dnsdist.conf',
        `setLocal('${ip}:${port}')
setACL({'0.0.0.0/0', '::/0'})
setSecurityPollSuffix('')
${servers.map((server) => `newServer('${server.ip}:${server.port}'):setUp()`).join('\n')}
${further}`,
      )
      return ['--supervised', '--disable-syslog', '-C', config]
    },
  }
}

/** dnsdist in front of a server: some names are refused, and some questions are format errors where they have EDNS. */
export function dnsdist(server: Server): EngineSpec {
  return dnsdistWith(
    'dnsdist',
    [server],
    `-- No EDNS here: RFC 6891 section 7.
addAction(AndRule({QNameRule('real.${origin}'), RecordsTypeCountRule(DNSSection.Additional, 41, 1, 1)}), RCodeAction(DNSRCode.FORMERR))
addAction(QNameRule('x-.${origin}'), RCodeAction(DNSRCode.REFUSED))
addAction(QNameRule('-x.${origin}'), RCodeAction(DNSRCode.SERVFAIL))
-- Everything else by TCP.
addAction(AndRule({MaxQPSIPRule(5), TCPRule(false)}), TCAction())
`,
  )
}

/** dnsdist in front of servers that it asks in turn: many caches behind one address. */
export function inTurn(servers: readonly Server[]): EngineSpec {
  return dnsdistWith('dnsdist', servers, 'setServerPolicy(roundrobin)\n')
}

/** dnsdist in front of a server for those who ask over HTTP, at another port of the same address. */
export function httpFront(server: Server, port: number): EngineSpec {
  return dnsdistWith(
    'dnsdist, for HTTP',
    [server],
    `addDOHLocal('127.0.0.1:${port}', nil, nil, '/dns-query')\n`,
  )
}
