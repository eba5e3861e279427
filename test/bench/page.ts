import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { drawChart } from './chart.ts'
import { comparisonsIn, summaryTable } from './summary.ts'

// docs/benchmarks.md: a summary. docs/benchmark-runs.md: a chapter for each benchmark, with each run as it was printed.

const docs = join(import.meta.dirname, '../../docs')
export const pageFile: string = join(docs, 'benchmarks.md')
export const runsFile: string = join(docs, 'benchmark-runs.md')
export const chartFile: string = join(docs, 'speed.svg')

const preface = [
  '---\ntitle: Benchmarks\n---',
  '# Benchmarks',
  'utility-api was measured beside hand-written programs that do the same work, and beside comparable libraries. In each run, the programs took turns, round by round. Everything ran on loopback, so the load generator used the same processors. SQLite is on a local disk, with full durability unless a table says otherwise.',
].join('\n\n')

const afterSummary = [
  'Ratios depend on the processor: a server that answers requests one by one loses more on some. The number of statements that an operation sends to its database does not depend on it.',
  'To repeat the measurements, install wrk, NSD, PostgreSQL, MariaDB, Galera and rsync, run `npm ci && npm ci --prefix test/peers`, and then `npm run bench`, or `SHORT=1 npm run bench` for a short run of five minutes. The run writes this page; `npm run bench -- page NAME` writes one chapter of the runs.',
].join('\n\n')

/** What the chart shows, of all that the summary has. */
const charted = new Set([
  'Exchange a code, SQLite',
  'Generate a license, SQLite',
  'PostgreSQL: exchange',
  'PostgreSQL: generate',
  'Mount: Node',
  'Mount: Express 5',
  'Mount: Bun',
  'DNS: checks of 12 servers, 50 at once',
  'Minecraft: 50 lookups at once',
])

const runsPreface = [
  '---\ntitle: Benchmark runs\n---',
  '# Benchmark runs',
  'The tables of three runs of each benchmark, as the programs printed them. [Benchmarks](benchmarks.md) has the summary.',
].join('\n\n')

/** The chapters of the runs by their titles. */
export function readChapters(): Map<string, string> {
  const [, ...parts] = readFileSync(runsFile, 'utf8').split(/^(?=## )/m)
  const chapters = parts.map((part): [string, string] => [
    part.slice('## '.length, part.indexOf('\n')),
    part.trim(),
  ])
  return new Map(chapters)
}

interface Drawn {
  readonly page: string
  readonly runs: string
  readonly chart: string
}

/** The page, its chart and the runs, of chapters in their order. */
export function drawPage(chapters: ReadonlyMap<string, string>): Drawn {
  const comparisons = comparisonsIn(chapters)
  const summary = [
    '## Summary',
    'Each ratio is the rate of utility-api divided by the rate of the other program: the lowest and the highest of three runs. Below 1, the other program is faster.',
    summaryTable(comparisons),
    '![Rates beside peers and code written by hand, relative to utility-api](speed.svg)',
    'The chart shows the run that is least favorable to utility-api.',
  ]
  return {
    page: `${[preface, ...summary, afterSummary, '## All runs', listOf(chapters)].join('\n\n')}\n`,
    runs: `${[runsPreface, ...chapters.values()].join('\n\n')}\n`,
    chart: drawChart(comparisons.filter(({ work }) => charted.has(work))),
  }
}

function listOf(chapters: ReadonlyMap<string, string>): string {
  const anchorOf = (title: string): string =>
    title
      .toLowerCase()
      .replaceAll(/[^\w ]/g, '')
      .replaceAll(' ', '-')
  const links = [...chapters.keys()].map((title) => `- [${title}](benchmark-runs.md#${anchorOf(title)})`)
  return ['Each chapter names its machine and its day.', links.join('\n')].join('\n\n')
}

export function writePage(chapters: ReadonlyMap<string, string>): void {
  const { page, runs, chart } = drawPage(chapters)
  writeFileSync(pageFile, page)
  writeFileSync(runsFile, runs)
  writeFileSync(chartFile, chart)
}
