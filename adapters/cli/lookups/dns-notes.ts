import type { DnsCheckResult, ExtendedDnsError } from 'utility-api'
import { printable } from '../terminal/terminal-text.ts'

type Noted = Pick<
  DnsCheckResult,
  'cname_chain' | 'transport' | 'authenticated' | 'ede' | 'referral' | 'bogus'
>

/** Returns what else an answer says, or nothing: where it comes from, and why it failed. */
export function notesOn(noted: Noted): string {
  const { cname_chain: chain = [], transport, authenticated, ede = [], referral, bogus } = noted
  return [
    ...(chain.length > 0 ? [`alias of ${printable(chain.at(-1) ?? '')}`] : []),
    ...(referral === undefined
      ? []
      : [printable(`${referral.zone} is at ${referral.name_servers.join(', ')}`)]),
    ...(transport === 'tcp' ? ['TCP'] : []),
    ...(authenticated === true ? ['validated'] : []),
    ...(bogus === true ? ['fails only with validation'] : []),
    ...ede.map(errorText),
  ].join('; ')
}

function errorText({ code, text }: ExtendedDnsError): string {
  const name = errorNames[code] ?? `error ${code}`
  return text === '' ? name : `${name}: ${printable(text)}`
}

/** The registered names of extended errors, by code (RFC 8914). */
const errorNames: readonly string[] = [
  'other error',
  'unsupported DNSKEY algorithm',
  'unsupported DS digest type',
  'stale answer',
  'forged answer',
  'DNSSEC indeterminate',
  'DNSSEC bogus',
  'signature expired',
  'signature not yet valid',
  'DNSKEY missing',
  'RRSIGs missing',
  'no zone key bit set',
  'NSEC missing',
  'cached error',
  'not ready',
  'blocked',
  'censored',
  'filtered',
  'prohibited',
  'stale NXDOMAIN answer',
  'not authoritative',
  'not supported',
  'no reachable authority',
  'network error',
  'invalid data',
  'signature expired before valid',
  'too early',
  'unsupported NSEC3 iterations value',
  'unable to conform to policy',
  'synthesized',
]
