import { setTimeout as delay } from 'node:timers/promises'
import { defaultResolverLocations } from 'utility-api'
import type { DnsAnswer, DnsCheckResult, RecordType, ResolverLocation } from 'utility-api'
import { UsageError } from '../terminal/command.ts'
import { secondsOf } from '../terminal/option-values.ts'
import { columns, isOutputLost, printJson, styled } from '../terminal/output.ts'
import { createScreen } from '../terminal/screen.ts'
import { watchForStop } from '../terminal/stop-signal.ts'
import { printable, wrap } from '../terminal/terminal-text.ts'
import { awaitedOf, createWatch, exitCodeOf, type Comparison, type Watch } from './dns-arrival.ts'
import { authoritiesOf, withAuthorities } from './dns-authority.ts'
import { createChecker, type Checker, type CheckListener } from './dns-check.ts'
import { questionOf } from './dns-question.ts'
import { sectionLines, type Section, type Seen } from './dns-table.ts'
import { locationsOf } from './server-option.ts'

/** The values of the command's options. */
interface Options {
  readonly server: readonly string[]
  readonly authority: boolean
  readonly expect: readonly string[]
  readonly contains: readonly string[]
  readonly watch: boolean
  readonly interval: string
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
  const watchesWith = (authorities: readonly string[]): Watch[] =>
    types.map((type) => createWatch({ recordType: type as RecordType, authorities }, awaited))
  // What is expected is judged before anything is asked.
  for (const watch of watchesWith([])) watch.compare([])
  const trial = await createChecker(resolvers, silent)
  // A type that is refused while another is looked up would leave half a table behind.
  await trial.requireValid(name, types)
  await trial[Symbol.asyncDispose]()
  using stop = watchForStop()
  const authorities = values.authority ? await authoritiesOf(name, types, resolvers, stop.signal) : []
  const locations = withAuthorities(resolvers, authorities)
  const view = json === true ? null : createView(types, locations, authorities.length)
  const terms = { seconds, overTcp: values.tcp, authorities: new Set(authorities.map(({ ip }) => ip)) }
  const watches = watchesWith([...terms.authorities])
  await using checker = await createChecker(locations, view ?? silent, terms)
  for (;;) {
    const results = await checkAll(checker, name, types, stop.signal)
    if (results === null) return interrupted()
    const comparisons = watches.map((watch, at) => watch.compare(results[at] ?? []))
    const isOver = !values.watch || watches.every((watch) => watch.isOver())
    const isBlocked = view !== null && !values.tcp && results.every(allTimedOut)
    const footer = isBlocked ? await blockedLines(name, types, resolvers, terms, stop.signal) : []
    view?.conclude(results, comparisons, isOver ? footer : [...footer, ...againLines(intervalMs)])
    if (isOver) {
      if (json === true) printJson(inShape(types, results))
      process.exitCode = exitCodeOf(comparisons)
      return
    }
    if (isOutputLost() || !(await waited(intervalMs, stop.signal))) return interrupted()
  }
}

function inNetwork(
  subnet: string | undefined,
  locations: readonly ResolverLocation[],
): readonly ResolverLocation[] {
  return subnet === undefined ? locations : locations.map((each) => ({ ...each, clientSubnet: subnet }))
}

function allTimedOut(results: readonly DnsCheckResult[]): boolean {
  return results.every(({ status }) => status === 'TIMEOUT')
}

/** Says what silence may mean, and asks the first resolver over TCP to tell. */
async function blockedLines(
  name: string,
  types: readonly string[],
  resolvers: readonly ResolverLocation[],
  terms: { readonly seconds: number; readonly authorities: ReadonlySet<string> },
  signal: AbortSignal,
): Promise<string[]> {
  await using checker = await createChecker(resolvers.slice(0, 1), silent, { ...terms, overTcp: true })
  const [results = []] = (await checkAll(checker, name, types.slice(0, 1), signal)) ?? []
  const [first] = results
  const isReached = first !== undefined && first.status !== 'TIMEOUT' && first.status !== 'UNREACHABLE'
  const outcome = isReached ? `${printable(first.provider)} answers; try --tcp` : 'there is no answer either'
  return wrap(`A firewall may block UDP port 53 here. Over TCP, ${outcome}.`, columns())
}

/** Shows the checks to a person. */
interface View extends CheckListener {
  /** Shows all answers and how they compare. */
  conclude(
    results: readonly DnsCheckResult[][],
    summaries: readonly Comparison[],
    footer: readonly string[],
  ): void
}

/** @param own - How many of the locations, the first ones, are the zone's own servers. */
function createView(types: readonly string[], locations: readonly ResolverLocation[], own: number): View {
  const sections: Section[] = types.map((type) => ({ type, seen: locations.map(() => undefined) }))
  const screen = createScreen()
  const lines = (): string[] =>
    sections.flatMap((section, at) => [
      ...(at > 0 ? [''] : []),
      ...(sections.length > 1 ? [styled('bold', `${section.type} records`)] : []),
      ...sectionLines(section, locations),
    ])
  return {
    onQuestion: () => screen.draw(lines()),
    onAnswer(type, position, answer) {
      const section = sections.find((each) => each.type === type)
      if (section !== undefined) section.seen[position] = seenIn(answer)
      screen.draw(lines())
    },
    conclude(results, summaries, footer) {
      for (const [at, section] of sections.entries()) {
        Object.assign(section, { summary: summaries[at], own: new Set(results[at]?.slice(0, own)) })
        for (const [position, result] of (results[at] ?? []).entries())
          section.seen[position] = { ...result, records: result.dns_results, latencyMs: result.latency_ms }
      }
      screen.finish([...lines(), ...footer])
    },
  }
}

function seenIn(answer: DnsAnswer): Seen {
  const { status, records, latencyMs, cnameChain, transport, authenticated, ede } = answer
  return {
    status,
    records,
    latencyMs,
    cname_chain: [...cnameChain],
    transport,
    authenticated,
    ede: ede === undefined ? undefined : [...ede],
  }
}

const silent: CheckListener = { onQuestion: () => {}, onAnswer: () => {} }

/** Returns the operation's answer for one type. For several types, each answer is under the type's name. */
function inShape(types: readonly string[], results: readonly DnsCheckResult[][]): unknown {
  return types.length === 1 ? results[0] : Object.fromEntries(types.map((type, at) => [type, results[at]]))
}

/** Returns the results for each type, or null if the program was told to stop. */
async function checkAll(
  checker: Checker,
  name: string,
  types: readonly string[],
  signal: AbortSignal,
): Promise<DnsCheckResult[][] | null> {
  try {
    return await Promise.all(types.map((type) => checker.check(name, type, signal)))
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
  // If nothing is drawn over, the next table follows below.
  return process.stdout.isTTY ? ['', ...again] : ['', ...again, '']
}

async function waited(milliseconds: number, signal: AbortSignal): Promise<boolean> {
  try {
    await delay(milliseconds, undefined, { signal })
    return true
  } catch {
    return false
  }
}

/** The exit code that shells report for a program ended by Ctrl-C. */
const interruptedCode = 130

function interrupted(): void {
  process.exitCode = interruptedCode
}
