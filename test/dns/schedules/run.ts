// npm run test:schedules -- [COUNT] [SEED]: changes records behind real caching resolvers, and compares what the DNS check says
// with what is true.
import { missingPackages } from './resolvers.ts'
import { runSchedules } from './run-schedules.ts'
import type { Time } from './schedule.ts'

const [count = 1000, seed = Date.now() % 1_000_000] = process.argv.slice(2).map(Number)
const missing = missingPackages()
if (missing.length > 0)
  console.log(`Without ${missing.join(', ')}, which are not installed (apt-get install).`)
const started = performance.now()
const { resolvers, seen, wrong } = await runSchedules(count, 100, seed)
const minutes = (performance.now() - started) / 60_000

const times = seen.flatMap((each) => each.times)
const most = (all: readonly number[]): string => String(Math.round(Math.max(0, ...all)))
function row(name: string, of: readonly Time[]): string[] {
  const said = of.filter(({ seconds }) => seconds !== null)
  const earliest = most(said.map(({ earlyMs }) => earlyMs))
  const latest = most(said.map(({ lateMs }) => lateMs))
  return [name, ...[of.length, said.length].map(String), earliest, latest]
}
const header = ['', 'old answers', 'say a time', 'too early by at most, ms', 'too late by at most, ms']
const rows = [
  header,
  ...resolvers.flatMap((name) => {
    const own = times.filter(({ resolver }) => resolver === name)
    const kinds = [own.filter(({ isNo }) => !isNo), own.filter(({ isNo }) => isNo)] as const
    return [row(`${name}: records`, kinds[0]), row(`${name}: none`, kinds[1])]
  }),
]
const widths = header.map((_, column) => Math.max(...rows.map((each) => each[column]?.length ?? 0)))
for (const each of rows)
  console.log(
    each
      .map((cell, at) => (at === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join('  '),
  )

const checks = seen.reduce((sum, each) => sum + each.checks, 0)
const figures = `${count} schedules, ${resolvers.length} resolvers, ${checks} checks`
console.log(`\n${figures} in ${minutes.toFixed(1)} minutes (seed ${seed}): ${wrong.length} wrong.`)
for (const each of wrong.slice(0, 50)) console.log(`  ${each}`)
process.exitCode = wrong.length > 0 || seen.length !== count ? 1 : 0
