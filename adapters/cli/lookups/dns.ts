import { setTimeout as delay } from 'node:timers/promises'
import { defaultResolverLocations, summarizeDnsCheck } from 'utility-api'
import type { DnsCheckResult, DnsCheckSummary, ResolverLocation } from 'utility-api'
import { command, type AnyCommand } from '../terminal/command.ts'
import { createChecker, type Checker, type CheckListener } from './dns-check.ts'
import { sectionLines, type Section } from './dns-table.ts'
import { integer } from '../terminal/option-values.ts'
import { columns, isOutputLost, jsonOption, printJson, styled } from '../terminal/output.ts'
import { createScreen } from '../terminal/screen.ts'
import { locationsOf } from './server-option.ts'
import { watchForStop } from '../terminal/stop-signal.ts'
import { wrap } from '../terminal/terminal-text.ts'

export const dns: AnyCommand = command({
  args: {
    name: { type: 'positional', required: true, description: 'A domain; for PTR also an IP address.' },
    type: {
      type: 'positional',
      default: 'A',
      description: 'Record type: A, AAAA, MX, TXT, …; more may follow.',
    },
    server: {
      type: 'string',
      valueHint: '[LABEL=]IP[:PORT],…',
      description: 'Resolvers to ask instead of the public ones.',
    },
    watch: { type: 'boolean', description: 'Repeat the check until all agree.' },
    interval: {
      type: 'string',
      default: '10',
      valueHint: 'SECONDS',
      description: 'How long --watch waits between checks; at most 3600.',
    },
    ...jsonOption,
  },
  rest: true,
  notes: [
    'Exit code: 0 if all answers have the same records, 1 if no resolver answered, 3 if they differ, 4 if some have the record and others do not, 5 if all agree that there is none; with several types, the first of 1, 3, 4, 0 and 5 that applies to one of them.',
  ],
  examples: [
    'dns example.com',
    'dns example.com A AAAA MX --json',
    'dns example.com --watch --interval 30',
    'dns 192.0.2.1 PTR --server "office=192.0.2.53,lab=[2001:db8::53]:5353"',
  ],
  async run({ server, watch, interval, json }, { words: [name = '', ...types] }) {
    const intervalMs = integer('interval', interval, 1, 3600) * 1000
    const locations = server === undefined ? defaultResolverLocations : locationsOf(server)
    const asked = types.length === 0 ? ['A'] : [...new Set(types.map((type) => type.toUpperCase()))]
    const view = json === true ? null : createView(asked, locations)
    using stop = watchForStop()
    await using checker = await createChecker(locations, view ?? silent)
    // A type that is refused while another is looked up would leave half a table behind.
    await checker.requireValid(name, asked)
    for (;;) {
      const results = await checkAll(checker, name, asked, stop.signal)
      if (results === null) return interrupted()
      const summaries = results.map((each) => summarizeDnsCheck(each))
      const isOver = watch !== true || summaries.every(({ verdict }) => verdict === 'agree')
      view?.conclude(results, summaries, isOver ? [] : againLines(interval))
      if (isOver) {
        if (json === true) printJson(inShape(asked, results))
        process.exitCode = exitCodeOf(summaries)
        return
      }
      if (isOutputLost() || !(await waited(intervalMs, stop.signal))) return interrupted()
    }
  },
})

/** Shows the checks to a person. */
interface View extends CheckListener {
  /** Shows all answers and how they compare. */
  conclude(
    results: readonly DnsCheckResult[][],
    summaries: readonly DnsCheckSummary[],
    footer: readonly string[],
  ): void
}

function createView(types: readonly string[], locations: readonly ResolverLocation[]): View {
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
    onAnswer(type, place, answer) {
      const section = sections.find((each) => each.type === type)
      if (section !== undefined) section.seen[place] = answer
      screen.draw(lines())
    },
    conclude(results, summaries, footer) {
      for (const [at, section] of sections.entries()) {
        Object.assign(section, { summary: summaries[at] })
        for (const [place, { status, dns_results: records, latency_ms: latencyMs }] of (
          results[at] ?? []
        ).entries())
          section.seen[place] = { status, records, latencyMs }
      }
      screen.finish([...lines(), ...footer])
    },
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

function againLines(interval: string): string[] {
  const time = new Date().toISOString().slice(11, 19)
  const again = wrap(`At ${time} UTC; again in ${interval} s. Ctrl-C ends it.`, columns()).map((line) =>
    styled('dim', line),
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

const exitCodes = { unanswered: 1, differ: 3, not_everywhere: 4, agree: 0 } as const
const noRecordCode = 5
/** Which exit code wins if there are several types. */
const precedence: readonly number[] = [1, 3, 4, 0, noRecordCode]

function exitCodeOf(summaries: readonly DnsCheckSummary[]): number {
  const codes = new Set<number>(
    summaries.map(({ verdict, groups: [first] }) =>
      verdict === 'agree' && first?.records.length === 0 ? noRecordCode : exitCodes[verdict],
    ),
  )
  return precedence.find((code) => codes.has(code)) ?? 0
}
