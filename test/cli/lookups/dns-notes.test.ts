import { expect, test } from 'vitest'
import { notesOn } from '../../../adapters/cli/lookups/dns-notes.ts'

/** IANA, "Extended DNS Error Codes", in the order of the codes. */
const registry = [
  'Other Error',
  'Unsupported DNSKEY Algorithm',
  'Unsupported DS Digest Type',
  'Stale Answer',
  'Forged Answer',
  'DNSSEC Indeterminate',
  'DNSSEC Bogus',
  'Signature Expired',
  'Signature Not Yet Valid',
  'DNSKEY Missing',
  'RRSIGs Missing',
  'No Zone Key Bit Set',
  'NSEC Missing',
  'Cached Error',
  'Not Ready',
  'Blocked',
  'Censored',
  'Filtered',
  'Prohibited',
  'Stale NXDOMAIN Answer',
  'Not Authoritative',
  'Not Supported',
  'No Reachable Authority',
  'Network Error',
  'Invalid Data',
  'Signature Expired before Valid',
  'Too Early',
  'Unsupported NSEC3 Iterations Value',
  'Unable to conform to policy',
  'Synthesized',
]

test.each(registry.map((name, code) => [code, name] as const))('extended error %i is "%s"', (code, name) => {
  expect(notesOn({ ede: [{ code, text: '' }] }).toLowerCase()).toBe(name.toLowerCase())
})

test('an extended error that is not registered has its number', () => {
  expect(notesOn({ ede: [{ code: 4000, text: 'why' }] })).toBe('error 4000: why')
})
