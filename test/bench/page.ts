import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { drawChart } from './chart.ts'
import { comparisonsIn, summaryTable } from './summary.ts'

// docs/benchmarks.md: a summary, and a chapter for each benchmark as it was printed.

const docs = join(import.meta.dirname, '../../docs')
export const pageFile: string = join(docs, 'benchmarks.md')
export const chartFile: string = join(docs, 'speed.svg')

const preface = [
  '---\ntitle: Benchmarks\n---',
  '# Benchmarks',
  'utility-api beside the same work written by hand and beside peers, interleaved round by round in one run. Everything in a chapter ran on one machine and on loopback, so the load generator used the same processors; the chapter names the machine and the day. SQLite is on a local disk, with full durability unless said.',
].join('\n\n')

const afterSummary = [
  'Ratios [depend on the processor](decisions/mounts.md#ratios-depend-on-the-processor). What depends on no machine is [how many statements an operation sends to its database](decisions/storage.md#statements-per-operation).',
  'To repeat: `npm ci && npm ci --prefix test/peers`, with wrk, NSD and PostgreSQL installed, then `npm run bench`, or `SHORT=1 npm run bench` for a short run of three minutes. It writes this page; `npm run bench -- page NAME` writes one chapter of it.',
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

/** The chapters of the page by their titles. */
export function readChapters(): Map<string, string> {
  const [, ...parts] = readFileSync(pageFile, 'utf8').split(/^(?=## )/m)
  const chapters = parts.map((part): [string, string] => [
    part.slice('## '.length, part.indexOf('\n')),
    part.trim(),
  ])
  return new Map(chapters.filter(([title]) => title !== 'Summary'))
}

/** The page and its chart, of chapters in their order. */
export function drawPage(chapters: ReadonlyMap<string, string>): { page: string; chart: string } {
  const comparisons = comparisonsIn(chapters)
  const summary = [
    '## Summary',
    'The rate of utility-api divided by the rate of the other, in the least and the most favorable run. Below 1, the other is faster.',
    summaryTable(comparisons),
    '![Rates beside peers and code written by hand, relative to utility-api](speed.svg)',
    'The chart draws the least favorable run.',
  ]
  return {
    page: `${[preface, ...summary, afterSummary, ...chapters.values()].join('\n\n')}\n`,
    chart: drawChart(comparisons.filter(({ work }) => charted.has(work))),
  }
}

export function writePage(chapters: ReadonlyMap<string, string>): void {
  const { page, chart } = drawPage(chapters)
  writeFileSync(pageFile, page)
  writeFileSync(chartFile, chart)
}
