import type { EngineSpec } from './engine.ts'
import { origin } from './zone.ts'

/** dnsdist in front of a server: some names are refused, and some questions are format errors where they have EDNS. */
export function dnsdist(server: { readonly ip: string; readonly port: number }): EngineSpec {
  return {
    name: 'dnsdist',
    program: 'dnsdist',
    debian: 'dnsdist',
    setUp({ ip, port, write }) {
      const config = write(
        'dnsdist.conf',
        `setLocal('${ip}:${port}')
setACL({'127.0.0.0/8', '::1/128'})
setSecurityPollSuffix('')
newServer({address='${server.ip}:${server.port}', checkInterval=60, healthCheckMode='up'})
-- No EDNS here: RFC 6891 section 7.
addAction(AndRule({QNameRule('real.${origin}'), RecordsTypeCountRule(DNSSection.Additional, 41, 1, 1)}), RCodeAction(DNSRCode.FORMERR))
addAction(QNameRule('x-.${origin}'), RCodeAction(DNSRCode.REFUSED))
addAction(QNameRule('-x.${origin}'), RCodeAction(DNSRCode.SERVFAIL))
-- Everything else by TCP.
addAction(AndRule({MaxQPSIPRule(5), TCPRule(false)}), TCAction())
`,
      )
      return ['--supervised', '--disable-syslog', '-C', config]
    },
  }
}
