import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createAdmin } from 'utility-api'
import type { AdminStorage } from 'utility-api/storage'
import { call } from '../storage/support/call.ts'
import { tables } from '../storage/support/postgres-server.ts'

// The tools that make a database look like a model, each with a model of one table of its own.

const folder = join(import.meta.dirname, '../tools')
export const page: string = join(import.meta.dirname, '../../docs/guide/beside-migrations.md')

/** Why no tool can be run; null where they can. */
export function whyNoTools(): string | null {
  if (existsSync(join(folder, 'node_modules'))) return null
  return 'Skipped: no tools for databases are installed; run `npm ci --prefix test/tools`.'
}

interface Tool {
  readonly name: string
  readonly package: string
  /** What `deploy.js` calls it. */
  readonly tool: string
  readonly databases?: readonly string[]
}

export const tools: readonly Tool[] = [
  { name: 'drizzle-kit `push --force`', package: 'drizzle-kit', tool: 'drizzle' },
  { name: 'MikroORM `schema.update()`', package: '@mikro-orm/core', tool: 'mikro-orm' },
  {
    name: 'Prisma `db push --accept-data-loss`',
    package: 'prisma',
    tool: 'prisma',
    databases: ['PostgreSQL'],
  },
  { name: 'TypeORM `synchronize()`', package: 'typeorm', tool: 'typeorm' },
  { name: 'Sequelize `sync({ alter: true })`', package: 'sequelize', tool: 'sequelize' },
]

export type Outcome = 'kept' | 'dropped' | `fails; ${string}`

/** Lets a tool deploy its model. Returns what it said if it failed, and otherwise null. */
async function deploy({ tool }: Tool, url: string): Promise<string | null> {
  // drizzle-kit leaves a folder behind.
  const env = { ...process.env, DATABASE_URL: url, TMPDIR: join(folder, 'node_modules') }
  try {
    await promisify(execFile)(process.execPath, ['deploy.js', tool], { cwd: folder, env, timeout: 50_000 })
    return null
  } catch (error) {
    return String((error as { readonly stderr: string }).stderr)
  }
}

/** Lets a tool deploy before the tables are there and after a license was sold, and says what became of it. */
export async function deployTwice(
  tool: Tool,
  url: string,
  storage: AdminStorage & { migrate(): Promise<unknown> },
  countTables: () => Promise<number>,
): Promise<Outcome> {
  const first = await deploy(tool, url)
  if (first !== null) throw new Error(first)
  await storage.migrate()
  const admin = createAdmin({ storage })
  const { resellerId } = await admin.createReseller()
  const fields = { resellerId, registeredTo: 'Ada', domainOrIp: 'shop.example', status: 'valid' }
  const { licenseKey } = await admin.createLicense(fields)
  const second = await deploy(tool, url)
  const isThere = (await countTables()) === tables.split(',').length + 1
  const isKept = isThere && (await storage.findLicense(licenseKey, call)) !== null
  const outcome = isKept ? 'kept' : 'dropped'
  return second === null ? outcome : `fails; ${outcome}: ${second}`
}

/** The page with a table of what each tool did. */
export function pageWith(outcomes: ReadonlyMap<string, Outcome>): string {
  const columns = ['PostgreSQL, one schema', 'MariaDB, one database', 'PostgreSQL, set up', 'MariaDB, set up']
  const rows = tools.map(({ name, package: from }) => {
    const { version } = JSON.parse(
      readFileSync(join(folder, 'node_modules', from, 'package.json'), 'utf8'),
    ) as { version: string }
    const [tool, command = ''] = name.split(/ (?=`)/)
    const cells = columns.map((column) => (outcomes.get(`${name}, ${column}`) ?? 'not run').split(':')[0])
    return [`${tool} ${version} ${command}`, ...cells]
  })
  const all = [['Tool', ...columns], ...rows]
  const widths = all[0]?.map((_, at) => Math.max(...all.map((row) => row[at]?.length ?? 0))) ?? []
  const toLine = (row: readonly (string | undefined)[]): string =>
    `| ${row.map((cell, at) => cell?.padEnd(widths[at] ?? 0)).join(' | ')} |\n`
  const lines = [all[0] ?? [], widths.map((width) => '-'.repeat(width)), ...rows].map(toLine)
  return readFileSync(page, 'utf8').replace(/^\| Tool .*\n(?:\|.*\n)*/m, () => lines.join(''))
}
