import { setTimeout as delay } from 'node:timers/promises'
import { defaultResolverLocations } from 'utility-api'
import type { DnsCheckResult, RecordType, ResolverLocation } from 'utility-api'
import type { AuthoritativeServers } from 'utility-api/dns'
import { UsageError } from '../terminal/command.ts'
import { secondsOf } from '../terminal/option-values.ts'
import { columns, isOutputLost, printJson, styled } from '../terminal/output.ts'
import { createScreen } from '../terminal/screen.ts'
import { watchForStop } from '../terminal/stop-signal.ts'
import { printable, wrap } from '../terminal/terminal-text.ts'
import { awaitedOf, createWatch, exitCodeOf, type Comparison } from './dns-watch.ts'
import { authorityOf, withAuthority } from './dns-authority.ts'
import { check, requireValid, type CheckTerms } from './dns-check.ts'
import { questionOf } from './dns-question.ts'
import { sectionLines, verdictOf, type Section } from './dns-table.ts'
import { addressOf, locationsOf } from './server-option.ts'

/** The values of the command's options. */
interface Options {
  readonly server: readonly string[]
  readonly authority: boolean
  readonly expect: readonly string[]
  readonly contains: readonly string[]
  readonly watch: boolean
  readonly interval: string
  readonly for: string | undefined
  readonly timeout: string
  readonly tcp: boolean
  readonly subnet: string | undefined
  readonly json: boolean
}

/** Checks what the words of the command ask for, and shows it. */
export async function lookUp(values: Options, words: readonly string[]): Promise<void> {
  const { interval, json } = values
  const question = questionOf(words)
  const { name, types } = question
  const intervalMs = secondsOf('interval', interval, 1, 3600) * 1000
  const seconds = secondsOf('timeout', values.timeout, 1, 60)
  const awaited = awaitedOf(values.expect, values.contains)
  const [option] = Object.keys(awaited)
  if (option !== undefined && types.length > 1)
    throw new UsageError(
      `--${option === 'contains' ? option : 'expect'} goes with one record type, not with several.`,
    )
  const servers = [...values.server, ...question.servers]
  const resolvers = inNetwork(
    values.subnet,
    servers.length === 0 ? defaultResolverLocations : locationsOf(...servers),
  )
  if (values.for !== undefined && !values.watch) throw new UsageError('--for goes with --watch.')
  const until =
    performance.now() + (values.for === undefined ? Infinity : secondsOf('for', values.for, 1, year) * 1000)
  const watches = types.map((type) => createWatch(type as RecordType, awaited))
  // What is expected is judged before anything is asked.
  for (const watch of watches) watch.compare([])
  // A type that is refused while another is looked up would leave half a table behind.
  await requireValid(name, types, resolvers)
  using stop = watchForStop()
  const { signal } = stop
  const terms = { seconds, overTcp: values.tcp, signal }
  const view = json === true ? null : createView()
  let sections: Section[] = []
  for (;;) {
    const results = await unlessStopped(signal, async () => {
      const search = values.authority ? { resolvers, seconds, signal } : null
      sections = await Promise.all(
        types.map((type, at) => sectionOf(name, type, { resolvers, search, before: sections[at] })),
      )
      view?.begin(sections)
      const checks = sections.map((section) =>
        check({ name, ...section }, terms, (row, at) => view?.onAnswer(section, at, row)),
      )
      return Promise.all(checks)
    })
    if (results === null) return interrupted()
    const comparisons = watches.map((watch, at) =>
      watch.compare(
        results[at] ?? [],
        sections[at]?.authority?.servers.map(({ ip }) => ip),
      ),
    )
    const isOver = !values.watch || watches.every((watch) => watch.isOver())
    const isLast = isOver || performance.now() + intervalMs > until
    const isBlocked =
      view !== null && !values.tcp && results.flat().every(({ status }) => status === 'TIMEOUT')
    const footer = isBlocked ? await blockedLines(name, types, resolvers, terms) : []
    view?.conclude(results, comparisons, isLast ? footer : [...footer, ...againLines(intervalMs)], isLast)
    if (isLast) {
      if (json === true) printJson(inShape(types, results))
      process.exitCode = isOver ? exitCodeOf(comparisons) : timeIsUpCode
      return
    }
    const hasWaited = !isOutputLost() && (await delay(intervalMs, true, { signal }).catch(() => false))
    if (!hasWaited) return interrupted()
  }
}

const year = 31_536_000
/** The exit code of a watch that was not over in its time. */
const timeIsUpCode = 6

/** Finds out whom to ask, and keeps what is shown of those who were asked before. */
async function sectionOf(
  name: string,
  type: string,
  terms: {
    readonly resolvers: readonly ResolverLocation[]
    readonly search: Parameters<typeof authorityOf>[2] | null
    readonly before: Section | undefined
  },
): Promise<Section> {
  const { resolvers, search, before } = terms
  const authority = search && (await authorityOf(name, type, search).catch(lastOr(before, search.signal)))
  const locations = withAuthority(resolvers, authority)
  const seen = locations.map(
    (each) => before?.seen[before.locations.findIndex((one) => addressOf(one) === addressOf(each))],
  )
  return { type, locations, authority, seen }
}

/** A watch of days does not end because the zone above was silent once. */
function lastOr(before: Section | undefined, signal: AbortSignal) {
  return (error: unknown): AuthoritativeServers => {
    if (before?.authority && !signal.aborted) return before.authority
    throw error
  }
}

function inNetwork(
  subnet: string | undefined,
  locations: readonly ResolverLocation[],
): readonly ResolverLocation[] {
  return subnet === undefined ? locations : locations.map((each) => ({ ...each, clientSubnet: subnet }))
}

/** Says what silence may mean, and asks the first resolver over TCP to tell. */
async function blockedLines(
  name: string,
  types: readonly string[],
  resolvers: readonly ResolverLocation[],
  terms: CheckTerms,
): Promise<string[]> {
  const [type = ''] = types
  const asked = { name, type, locations: resolvers.slice(0, 1), authority: null }
  const results = await unlessStopped(terms.signal, () => check(asked, { ...terms, overTcp: true }, () => {}))
  const [first] = results ?? []
  const isReached = first !== undefined && first.status !== 'TIMEOUT' && first.status !== 'UNREACHABLE'
  const outcome = isReached ? `${printable(first.provider)} answers; try --tcp` : 'there is no answer either'
  return wrap(`A firewall may block DNS over UDP here. Over TCP, ${outcome}.`, columns())
}

/** Shows the checks to a person. */
interface View {
  /** Shows whom a check asks. */
  begin(sections: readonly Section[]): void
  onAnswer(section: Section, position: number, result: DnsCheckResult): void
  /** Shows all answers and how they compare. */
  conclude(
    results: readonly DnsCheckResult[][],
    summaries: readonly Comparison[],
    footer: readonly string[],
    isLast: boolean,
  ): void
}

function createView(): View {
  const screen = createScreen()
  let sections: readonly Section[] = []
  const lines = (): string[] =>
    sections.flatMap((section, at) => [
      ...(at > 0 ? [''] : []),
      ...(sections.length > 1 ? [styled('bold', `${section.type} records`)] : []),
      ...sectionLines(section),
    ])
  return {
    begin(asked) {
      sections = asked
      screen.draw(lines())
    },
    onAnswer(section, position, result) {
      section.seen[position] = result
      screen.draw(lines())
    },
    conclude(results, summaries, footer, isLast) {
      for (const [at, section] of sections.entries())
        Object.assign(section, { summary: summaries[at], seen: results[at] })
      if (isLast || process.stdout.isTTY) screen.finish([...lines(), ...footer])
      else console.log(roundLine(sections))
    },
  }
}

/** Returns a line for a log or a mail, where nothing is drawn over. */
function roundLine(sections: readonly Section[]): string {
  const verdicts = sections.map((section) =>
    sections.length === 1 ? verdictOf(section) : `${section.type}: ${verdictOf(section)}`,
  )
  return `${new Date().toISOString().slice(0, 19)}Z ${verdicts.join(' ')}`
}

/** Returns the operation's answer for one type. For several types, each answer is under the type's name. */
function inShape(types: readonly string[], results: readonly DnsCheckResult[][]): unknown {
  return types.length === 1 ? results[0] : Object.fromEntries(types.map((type, at) => [type, results[at]]))
}

/** Returns what work results in, or null if the program was told to stop. */
async function unlessStopped<Result>(
  signal: AbortSignal,
  work: () => Promise<Result>,
): Promise<Result | null> {
  try {
    return await work()
  } catch (error) {
    if (signal.aborted) return null
    throw error
  }
}

function againLines(intervalMs: number): string[] {
  const time = new Date().toISOString().slice(11, 19)
  const again = wrap(`At ${time} UTC; again in ${intervalMs / 1000} s. Ctrl-C ends it.`, columns()).map(
    (line) => styled('dim', line),
  )
  return ['', ...again]
}

/** The exit code that shells report for a program ended by Ctrl-C. */
const interruptedCode = 130

function interrupted(): void {
  process.exitCode = interruptedCode
}
