// Runs the contract on every mount and prints what came of it: `npm run bench -- matrix`.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { printTable } from './table.ts'

interface Report {
  readonly testResults: readonly {
    readonly assertionResults: readonly {
      readonly ancestorTitles: readonly string[]
      readonly title: string
      readonly status: string
    }[]
  }[]
}

interface Line {
  passed: number
  'judged by the host first': number
  failed: number
  skipped: number
}

const directory = mkdtempSync(join(tmpdir(), 'utility-api-matrix-'))
const file = join(directory, 'report.json')
spawnSync('npx', [
  'vitest',
  'run',
  '--project',
  'short',
  'test/http',
  '--reporter=json',
  `--outputFile=${file}`,
])
const { testResults } = JSON.parse(readFileSync(file, 'utf8')) as Report
rmSync(directory, { recursive: true })

const lines: Record<string, Line> = {}
for (const { ancestorTitles, title, status } of testResults.flatMap((each) => each.assertionResults)) {
  const surface = /(?: through |^(?:Connections|Leaving): )(.+)$/.exec(ancestorTitles[0] ?? '')?.[1]
  if (surface === undefined) continue
  lines[surface] ??= { passed: 0, 'judged by the host first': 0, failed: 0, skipped: 0 }
  if (status === 'failed') lines[surface].failed += 1
  else if (status !== 'passed') lines[surface].skipped += 1
  else lines[surface][title.startsWith('judged by the host') ? 'judged by the host first' : 'passed'] += 1
}
printTable(
  'The contract on every mount',
  Object.entries(lines).map(([mount, line]) => ({ mount, ...line })),
)
process.exitCode = Object.values(lines).some(({ failed }) => failed > 0) ? 1 : 0
