/** What utility-api was measured beside: its rate divided by the other's, once for each run. */
export interface Comparison {
  readonly work: string
  readonly beside: string
  readonly ratios: readonly number[]
}

interface Work {
  readonly work: string
  readonly chapter: string
  /** How the line above the table begins. */
  readonly table: string
  /** The row of utility-api. */
  readonly ours: string
  /** The other rows, and what the summary calls them. */
  readonly beside: Readonly<Record<string, string>>
}

const works: readonly Work[] = [
  {
    work: 'Exchange a code, SQLite',
    chapter: 'Codes exchanged for tokens, SQLite',
    table: 'Codes exchanged',
    ours: 'utility-api',
    beside: {
      'node:http by hand, ordered keys': 'the least code by hand',
      'oauth2-server on Express, memory': 'oauth2-server, in memory',
      'oidc-provider, memory': 'oidc-provider, in memory',
    },
  },
  {
    work: 'Generate a license, SQLite',
    chapter: 'Licenses generated, SQLite',
    table: 'Licenses generated',
    ours: 'utility-api, full',
    beside: {
      'node:http by hand, full, group commit': 'by hand, commits shared',
      'node:http by hand, normal, one commit each': 'by hand, a commit each',
    },
  },
  ...['exchange', 'generate', 'update'].map((operation) => ({
    work: `PostgreSQL: ${operation}`,
    chapter: 'The storage operations on PostgreSQL',
    table: `${operation}, confirmed by its own disk, 32 connections`,
    ours: 'utility-api',
    beside: { 'pg by hand': 'pg by hand' },
  })),
  ...['exchange', 'generate', 'update'].map((operation) => ({
    work: `MariaDB: ${operation}`,
    chapter: 'The storage operations on MariaDB and Galera',
    table: `${operation}, 32 connections`,
    ours: 'a single MariaDB',
    beside: { 'a single MariaDB, mysql2 by hand': 'mysql2 by hand' },
  })),
  ...[
    ['Node', { 'node:http by hand': 'node:http by hand', 'Fastify by hand': 'Fastify by hand' }] as const,
    ['Express 5', { 'Express 5 by hand': 'Express 5 by hand' }] as const,
    ['Bun', { 'Bun.serve by hand, on Bun': 'Bun.serve by hand' }] as const,
  ].map(([host, beside]) => ({
    work: `Mount: ${host}`,
    chapter: 'Mounts',
    table: 'License updates',
    ours: `utility-api on ${host}`,
    beside,
  })),
  ...['single queries, 50 at once', 'checks of 12 servers, 50 at once'].map((table) => ({
    work: `DNS: ${table}`,
    chapter: 'DNS',
    table,
    ours: 'utility-api',
    beside: {
      'ceiling (node:dgram)': 'bare sockets, nothing checked',
      'node:dns (c-ares)': 'node:dns (c-ares)',
      dns2: 'dns2',
    },
  })),
  {
    work: 'Minecraft: 50 lookups at once',
    chapter: 'Game server lookups',
    table: '50 at once',
    ours: 'utility-api',
    beside: {
      floor: 'the least code by hand',
      'minecraft-server-util': 'minecraft-server-util',
      'minecraft-protocol': 'minecraft-protocol',
    },
  },
]

/** Reads the comparisons from the tables of the chapters. One that is not there has no ratios. */
export function comparisonsIn(chapters: ReadonlyMap<string, string>): Comparison[] {
  return works.flatMap(({ work, chapter, table, ours, beside }) => {
    const runs = ratesIn(chapters.get(chapter) ?? '', table)
    return Object.entries(beside).map(([row, name]) => ({
      work,
      beside: name,
      ratios: runs.map((rates) => (rates.get(ours) ?? NaN) / (rates.get(row) ?? NaN)),
    }))
  })
}

/** The rates by row, of each table whose title begins so: a name in the first column, a rate in the second. */
function ratesIn(chapter: string, title: string): ReadonlyMap<string, number>[] {
  const paragraphs = chapter.split('\n\n')
  return paragraphs.flatMap((rows, at) => {
    if (!rows.startsWith('| ') || !paragraphs[at - 1]?.startsWith(title)) return []
    const cells = rows.split('\n').map((row) => row.split('|').map((cell) => cell.trim()))
    return [new Map(cells.slice(2).map(([, name = '', rate]) => [name, Number(rate)]))]
  })
}

/** The table at the top of the page. */
export function summaryTable(comparisons: readonly Comparison[]): string {
  const rows = comparisons.map(({ work, beside, ratios }, at) => [
    work === comparisons[at - 1]?.work ? '' : work,
    beside,
    Math.min(...ratios).toFixed(2),
    Math.max(...ratios).toFixed(2),
  ])
  const lines = [['Work', 'Beside', 'Lowest', 'Highest'], ['---', '---', '--:', '--:'], ...rows]
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}
