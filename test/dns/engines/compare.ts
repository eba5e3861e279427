import type { DnsAnswer } from '../../../src/domain/dns-answer.ts'
import { typeNumbers } from '../../../src/dns/wire/constants.ts'
import { encodeData } from '../../../src/testing/dns-encoding.ts'
import { wireName, type DigAnswer } from './dig-answer.ts'
import type { Question } from './zone.ts'

const aliasType = typeNumbers.CNAME

/** How an answer of ours differs from dig's; empty if it does not. */
export function differences(
  { name, type }: Question,
  ours: DnsAnswer,
  digs: DigAnswer,
  { ttlSlack }: { readonly ttlSlack: number },
): string[] {
  const chain: string[] = []
  const target = (owner: string): string | undefined =>
    type === 'CNAME'
      ? undefined
      : digs.answer.find((each) => each.type === aliasType && each.owner === owner)?.hex
  let end = wireName(name)
  for (let next = target(end); next !== undefined && chain.length < 100; next = target(end)) {
    end = lowerCase(next)
    chain.push(end)
  }
  const theirs = digs.answer.filter((each) => each.type === typeNumbers[type] && each.owner === end)
  const records = digs.status === 'NOERROR' ? theirs : []
  const parts: readonly (readonly [string, unknown, unknown])[] = [
    ['status', ours.status, statusOf(digs, records.length, chain.length)],
    ['aliases', ours.cnameChain.map(wireName), chain],
    [
      'records',
      ours.records.map((each) => `${wireName(each.host)} ${encodeData(each).toString('hex')}`).toSorted(),
      records.map(({ owner, hex }) => `${owner} ${hex.toLowerCase()}`).toSorted(),
    ],
    ['extended errors', (ours.ede ?? []).map(({ code }) => code), digs.ede],
    ['validated', ours.authenticated === true, digs.flags.has('ad')],
  ]
  const different = parts.filter(([, one, other]) => JSON.stringify(one) !== JSON.stringify(other))
  const longest = (ttls: readonly number[]): number => Math.max(0, ...ttls)
  const gap = Math.abs(longest(ours.records.map(({ ttl }) => ttl)) - longest(records.map(({ ttl }) => ttl)))
  return [
    ...different.map(([what, one, other]) => `${what}: ${JSON.stringify(one)}, dig ${JSON.stringify(other)}`),
    ...(gap > ttlSlack ? [`TTL: differs by ${gap} s`] : []),
  ]
}

/** What dig's answer is called here. */
function statusOf({ status, flags, authority }: DigAnswer, records: number, aliases: number): string {
  if (status !== 'NOERROR') return status
  if (records > 0) return 'NOERROR'
  if (authority.some(({ type }) => type === typeNumbers.SOA)) return 'NODATA'
  if (flags.has('ra')) return 'NODATA'
  const hasServers = authority.some(({ type }) => type === typeNumbers.NS)
  return aliases > 0 || (hasServers && !flags.has('aa')) ? 'REFERRAL' : 'NODATA'
}

function lowerCase(hex: string): string {
  const text = Buffer.from(hex, 'hex').toString('latin1')
  return Buffer.from(
    text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase()),
    'latin1',
  ).toString('hex')
}
