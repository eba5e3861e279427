import {
  recordText,
  type DnsArrivalSummary,
  type DnsCheckGroup,
  type DnsCheckResult,
  type DnsCheckSummary,
  type DnsOldCopy,
  type DnsRecord,
  type ResolverLocation,
} from 'utility-api'
import type { AuthoritativeServers } from 'utility-api/dns'
import type { Comparison } from './dns-watch.ts'
import { notesOn } from './dns-notes.ts'
import { zoneVerdictOf, type ZoneVerdict } from './dns-zone-verdict.ts'
import { columns, styled } from '../terminal/output.ts'
import { addressOf } from './server-option.ts'
import { tableLines } from '../terminal/table.ts'
import { cut, printable, widthOf, wrap } from '../terminal/terminal-text.ts'

/** The answers to one question, and how they compare once all have arrived. */
export interface Section {
  readonly type: string
  /** Who is asked: first the zone's own servers. */
  readonly locations: readonly ResolverLocation[]
  /** The zone's own servers, if they are asked. */
  readonly authority: AuthoritativeServers | null
  readonly seen: (DnsCheckResult | undefined)[]
  summary?: Comparison
}

/**
 * Formats a section as lines no wider than the terminal. A wrapped line would break the redrawing of the lines above.
 */
export function sectionLines(section: Section): string[] {
  const { summary, seen, locations } = section
  const width = columns()
  const whole = tableOf(section)
  const ofZone = summary === undefined ? null : zoneVerdictIn(section, summary)
  const differing =
    ofZone?.waitsForZone === false ? ofZone.groups.flatMap(({ results }) => results) : summary?.differing
  const colored = whole
    .map((line) => cut(line, width))
    .map((line, at) => styled(at === 0 ? 'bold' : colorOf(seen[at - 1], locations[at - 1], differing), line))
  if (summary === undefined) return colored
  const wasCut = whole.map((line) => widthOf(line) > width)
  const notes = seen.flatMap((each, at) =>
    each !== undefined && wasCut[at + 1] === true
      ? noteLines(locations[at]?.provider ?? '', each, width)
      : [],
  )
  const verdict =
    ofZone === null
      ? verdictLines(section.type, summary, wasCut.includes(true))
      : zoneLines(ofZone, summary, width)
  return [...colored, '', ...verdict, ...delegationLines(section, width), ...notes]
}

/** Returns the sentence that says how the answers of a section compare. */
export function verdictOf(section: Section): string {
  const { type, summary } = section
  if (summary === undefined) return ''
  return zoneVerdictIn(section, summary)?.sentence ?? sentenceOf(type, summary)
}

function zoneVerdictIn({ seen, authority }: Section, summary: Comparison): ZoneVerdict | null {
  return zoneVerdictOf(summary, new Set(seen.slice(0, authority?.servers.length ?? 0)), saysText)
}

/** Says to whom the zone above delegates, which is what counts where its own servers name others. */
function delegationLines({ type, authority }: Section, width: number): string[] {
  if (type !== 'NS' || authority === null) return []
  const { zone, delegation } = authority
  return wrap(
    printable(`${zone} is delegated to ${delegation.toSorted().join(', ')}, as the zone above says.`),
    width,
  )
}

/** The notes of an answer that did not fit into the table. */
function noteLines(provider: string, seen: DnsCheckResult, width: number): string[] {
  const notes = notesOn(seen)
  return notes === '' ? [] : wrap(`${printable(provider)}: ${notes}.`, width, '  ')
}

interface Column {
  readonly heading: string
  readonly cells: readonly string[]
}

/** The minimum width left for answers: an IPv4 address. */
const minAnswerWidth = 16

function tableOf({ seen, locations }: Section): string[] {
  const answer = { heading: 'ANSWER', cells: seen.map((each) => (each === undefined ? '…' : textOf(each))) }
  const shown = [...fitting(columnsOf(locations, seen), columns()), answer]
  const rows = locations.map((_, at) => shown.map(({ cells }) => cells[at] ?? ''))
  return tableLines(
    shown.map(({ heading }) => heading),
    rows,
  )
}

/** Returns all columns except the answer's, without those that only repeat another one. */
function columnsOf(locations: readonly ResolverLocation[], seen: Section['seen']): Column[] {
  const identities: Column[] = [
    { heading: 'LOCATION', cells: locations.map(({ location }) => printable(location)) },
    { heading: 'PROVIDER', cells: locations.map(({ provider }) => printable(provider)) },
    { heading: 'RESOLVER', cells: locations.map(addressOf) },
  ]
  const distinct = identities.filter(
    (column) =>
      !identities.some((other) => isPreferred(other, column) && sameCells(column.cells, other.cells)),
  )
  return [
    ...distinct,
    {
      heading: 'TIME',
      cells: seen.map((each) => (each === undefined ? '' : `${each.latency_ms} ms`)),
    },
    { heading: 'TTL', cells: seen.map((each) => ttlText(each?.dns_results)) },
  ]
}

/** Which of two equal columns to keep. An address goes under RESOLVER, a label under LOCATION. */
const preference: readonly string[] = ['RESOLVER', 'LOCATION', 'PROVIDER']

function isPreferred(column: Column, over: Column): boolean {
  return preference.indexOf(column.heading) < preference.indexOf(over.heading)
}

function sameCells(some: readonly string[], others: readonly string[]): boolean {
  return some.every((cell, at) => cell === others[at])
}

/** The columns to drop on a narrow terminal, in this order. One column that says who answers stays. */
const expendable = ['RESOLVER', 'LOCATION', 'TIME', 'TTL']

function fitting(all: readonly Column[], width: number): Column[] {
  let shown = [...all]
  for (const heading of expendable) {
    if (widthTogether(shown) + minAnswerWidth <= width) break
    if (shown[0]?.heading !== heading || shown[1]?.heading !== 'TIME')
      shown = shown.filter((column) => column.heading !== heading)
  }
  return shown
}

function widthTogether(shown: readonly Column[]): number {
  const widths = shown.map(({ heading, cells }) => Math.max(...[heading, ...cells].map(widthOf)) + 2)
  return widths.reduce((sum, each) => sum + each, 0)
}

function ttlText(records: readonly DnsRecord[] = []): string {
  return records.length === 0 ? '' : `${Math.max(...records.map(({ ttl }) => ttl))} s`
}

function colorOf(
  answer: DnsCheckResult | undefined,
  location: ResolverLocation | undefined,
  differing: readonly DnsCheckResult[] | undefined,
): 'dim' | 'green' | 'yellow' | 'red' {
  if (answer === undefined) return 'dim'
  const differs = differing?.some((each) => each.location === location?.location && each.ip === location.ip)
  if (answer.status === 'NOERROR') return differs === true ? 'yellow' : 'green'
  return answer.status === 'NODATA' || answer.status === 'NXDOMAIN' ? 'yellow' : 'red'
}

function textOf(seen: DnsCheckResult): string {
  const { status, dns_results: records } = seen
  const tags = records.flatMap((record) => (record.type === 'DNSKEY' ? [record.key_tag] : []))
  const notes = [notesOn(seen), ...tags.map((tag) => `key tag ${tag}`)]
    .filter((note) => note !== '')
    .join('; ')
  const what = records.length === 0 ? status : recordTexts(records).join(', ')
  return notes === '' ? what : `${what} [${notes}]`
}

function recordTexts(records: readonly DnsRecord[]): string[] {
  return records.map((record) => printable(recordText(record))).toSorted()
}

function sentenceOf(type: string, summary: Comparison): string {
  return 'arrived' in summary ? arrivalText(summary) : verdictText(type, summary)
}

/** @param inFull - Whether to show the records even if all agree. */
function verdictLines(type: string, summary: Comparison, inFull: boolean): string[] {
  const { groups, longestTtlSeconds: ttl } = summary
  const width = columns()
  if ('arrived' in summary) {
    const isOpen = summary.differing.length > 0
    return [
      ...wrap(sentenceOf(type, summary), width).map((line) => styled(arrivalColors[summary.verdict], line)),
      ...(isOpen ? groups.flatMap((group) => groupLines(group, width)) : []),
      ...(ttl !== null ? wrap(latestText(ttl, true), width) : []),
      ...silentLines(summary, width),
    ]
  }
  const { verdict } = summary
  const disagree = verdict === 'differ' || verdict === 'not_everywhere'
  const details = disagree || inFull ? groups.flatMap((group) => groupLines(group, width)) : []
  return [
    ...wrap(sentenceOf(type, summary), width).map((line) => styled(verdictColor(summary), line)),
    ...details,
    ...(disagree && ttl !== null ? wrap(`The longest TTL left is ${Math.ceil(ttl)} s.`, width) : []),
    ...silentLines(summary, width),
  ]
}

function zoneLines(
  { sentence, groups, secondsLeft, waitsForZone }: ZoneVerdict,
  summary: Comparison,
  width: number,
): string[] {
  const isGood = groups.length === 0 && summary.unanswered.length === 0
  return [
    ...wrap(sentence, width).map((line) => styled(isGood ? 'green' : 'yellow', line)),
    ...groups.flatMap((group) => groupLines(group, width)),
    ...(secondsLeft === null ? [] : wrap(latestText(secondsLeft, waitsForZone), width)),
    ...silentLines(summary, width),
  ]
}

function silentLines(summary: Comparison, width: number): string[] {
  const { verdict, unanswered } = summary
  const silent = unanswered.map(({ provider, status }) => `${printable(provider)} (${status})`).join(', ')
  const cached = cachedIn(summary)
    .map(({ provider }) => printable(provider))
    .join(', ')
  const gone = goneFrom(summary)
  const until = Math.max(...gone.map((copy) => copy.until))
  const [who, end] = [gone.map(({ provider }) => printable(provider)).join(', '), timeText(until)]
  return [
    ...(who === ''
      ? []
      : wrap(`Others may keep what ${who} said before, at the latest until ${end}.`, width, '  ')),
    ...(cached === '' ? [] : wrap(`May still have an old copy: ${cached}.`, width, '  ')),
    ...(silent === '' || verdict === 'unanswered' ? [] : wrap(`No answer: ${silent}.`, width, '  ')),
  ]
}

/** The locations that gave an old answer before, and may give it again. */
function cachedIn(summary: Comparison): DnsCheckResult[] {
  if (!('arrived' in summary)) return []
  const { blocking, differing, oldCopies } = summary
  const others = new Set(differing)
  return blocking.filter((each) => !others.has(each) && oldCopies.some((copy) => isSame(copy, each)))
}

/** The copies of locations that are asked no more, because the zone no longer has these servers. */
function goneFrom(summary: Comparison): readonly DnsOldCopy[] {
  if (!('arrived' in summary)) return []
  const asked = [...summary.arrived, ...summary.differing, ...summary.unanswered]
  return summary.oldCopies.filter((copy) => !asked.some((each) => isSame(copy, each)))
}

function isSame(copy: DnsOldCopy, { location, ip, provider }: DnsCheckResult): boolean {
  return copy.location === location && copy.ip === ip && copy.provider === provider
}

function timeText(at: number): string {
  return Number.isFinite(at) ? `${new Date(at + 999).toISOString().slice(11, 19)} UTC` : ''
}

const arrivalColors = { arrived: 'green', partly: 'yellow', not_yet: 'yellow', unanswered: 'red' } as const

function arrivalText({ verdict, arrived, differing, unanswered, blocking }: DnsArrivalSummary): string {
  const answered = arrived.length + differing.length
  const all = answered + unanswered.length
  const failing = unanswered.filter((each) => blocking.includes(each)).length
  if (verdict === 'unanswered') return unansweredText(unanswered)
  const what = 'what is expected'
  if (verdict === 'partly')
    return `Partly: ${arrived.length} of ${answered + failing} resolvers ${haveOrHas(arrived.length)} ${what}.`
  if (verdict === 'not_yet') return `Not yet: none of ${answered} resolvers has ${what}.`
  if (all === 1) return `Arrived: the resolver has ${what}.`
  return `Arrived: ${all === answered ? 'all' : `${answered} of`} ${all} resolvers ${haveOrHas(answered)} ${what}.`
}

function unansweredText(unanswered: readonly DnsCheckResult[]): string {
  const { length } = unanswered
  if (unanswered.every(({ status }) => status === 'REFERRAL'))
    return length === 1 ? 'The server only points elsewhere.' : `All ${length} servers only point elsewhere.`
  return length === 1 ? 'The resolver did not answer.' : `None of ${length} resolvers answered.`
}

/** Says when the last of the old answers has expired. */
function latestText(seconds: number, onceChanged: boolean): string {
  const time = timeText(Date.now() + seconds * 1000)
  const start = onceChanged ? 'Once the zone has changed, the' : 'The'
  return `${start} last old answer expires within ${Math.ceil(seconds)} s, by ${time}.`
}

function saysText(group: DnsCheckGroup): string {
  return `${group.records.length === 0 ? 'has' : 'says'} ${groupText(group)}`
}

function groupText({ records }: DnsCheckGroup): string {
  return records.length === 0 ? 'no record' : recordTexts(records).join(', ')
}

function groupLines(group: DnsCheckGroup, width: number): string[] {
  const { results } = group
  const what = groupText(group)
  const who = results.map(({ provider }) => printable(provider)).join(', ')
  return [
    ...wrap(`  ${results.length} ${haveOrHas(results.length)} ${what}`, width, '    '),
    ...wrap(`    ${who}`, width, '    '),
  ]
}

function verdictColor({ verdict, unanswered }: DnsCheckSummary): 'green' | 'yellow' | 'red' {
  if (verdict === 'unanswered') return 'red'
  return verdict === 'agree' && unanswered.length === 0 ? 'green' : 'yellow'
}

/** Returns a sentence that says how the answers compare. */
function verdictText(type: string, { verdict, groups, unanswered }: DnsCheckSummary): string {
  const answered = groups.reduce((sum, { results }) => sum + results.length, 0)
  const all = answered + unanswered.length
  const [first] = groups
  if (first === undefined) return unansweredText(unanswered)
  if (verdict === 'agree' || verdict === 'nowhere') return agreementText(type, first, all)
  if (verdict === 'differ') return `They differ: ${groups.length} answers from ${answered} resolvers.`
  const none = groups.find(({ records }) => records.length === 0)?.results.length ?? 0
  return `Not everywhere yet: ${answered - none} of ${answered} resolvers ${haveOrHas(answered - none)} the ${type} record, ${none} ${haveOrHas(none)} none.`
}

function agreementText(type: string, { records, results, rotates }: DnsCheckGroup, all: number): string {
  const answered = results.length
  const nothing = records.length === 0
  const claim = nothing ? ` that there is no ${type} record` : ''
  const rotation = rotates ? `: parts of one rotating set of ${records.length}` : ''
  if (all === 1) return nothing ? `There is no ${type} record.` : 'The resolver answered.'
  if (answered === all) return `${all === 2 ? 'Both' : `All ${all}`} resolvers agree${claim}${rotation}.`
  if (answered > 1) return `${answered} of ${all} resolvers answered, and agree${claim}${rotation}.`
  return `1 of ${all} resolvers answered${nothing ? `: there is no ${type} record` : ''}.`
}

function haveOrHas(count: number): string {
  return count === 1 ? 'has' : 'have'
}
