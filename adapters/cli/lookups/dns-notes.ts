import type { DnsCheckResult, DnsReferral, ExtendedDnsError } from 'utility-api'
import { printable } from '../terminal/terminal-text.ts'

/** What else an answer says: where it comes from, and why it failed. */
export interface Noted extends Pick<DnsCheckResult, 'cname_chain' | 'transport' | 'authenticated' | 'ede'> {
  readonly referral?: DnsReferral | undefined
  readonly failsOnlyWithValidation?: boolean | undefined
}

/** Returns the notes on an answer, or nothing. */
export function notesOn(noted: Noted): string {
  const { cname_chain: chain = [], transport, authenticated, ede = [], referral } = noted
  return [
    ...(chain.length > 0 ? [`alias of ${printable(chain.at(-1) ?? '')}`] : []),
    ...(referral === undefined
      ? []
      : [printable(`${referral.zone} is at ${referral.nameServers.join(', ')}`)]),
    ...(transport === 'tcp' ? ['TCP'] : []),
    ...(authenticated === true ? ['validated'] : []),
    ...(noted.failsOnlyWithValidation === true ? ['fails only with validation'] : []),
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
