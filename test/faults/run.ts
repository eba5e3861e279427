// npm run faults -- [PART ...]: the tests under faults, at their full length, and a report of what they did and found.
// Each amount below can be set by the environment variable of its name.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { removeFolder } from '../support/remove-folder.ts'

interface Part {
  readonly files: readonly string[]
  /** How long or how often; the tests name what each is by default. */
  readonly amounts: Readonly<Record<string, number | string>>
}

const parts: Readonly<Record<string, Part>> = {
  load: { files: ['test/faults/load.test.ts'], amounts: { LOAD_SECONDS: 900 } },
  storage: { files: ['test/faults/storage'], amounts: { STORM_ROUNDS: 200, FREEZES: 20 } },
  every: { files: ['test/faults/every.test.ts'], amounts: { EVERY_PART: 1, EVERY_MOST: 100 } },
  zones: { files: ['test/dns/costly-replies.test.ts'], amounts: { DNS_ZONES: 100_000 } },
  kill: {
    files: ['test/faults/crash.test.ts', 'test/faults/postgres.long.test.ts'],
    amounts: { KILL_ROUNDS: 100 },
  },
  galera: { files: ['test/faults/galera.long.test.ts'], amounts: { GALERA_ROUNDS: 1000, GALERA_KILLS: 20 } },
  idle: { files: ['test/storage/idle-cuts.long.test.ts'], amounts: { IDLE_REQUESTS: 1000 } },
  revocations: {
    files: ['test/http/token-revocations.test.ts'],
    amounts: { REVOCATION_ROUNDS: 200 },
  },
  days: { files: ['test/days/days.test.ts'], amounts: { DAYS: 10_000, REPEATED_DAYS: 100 } },
  shops: { files: ['test/testing/faulty-storage.test.ts'], amounts: { SHOP_SEEDS: 10_000 } },
  uses: { files: ['test/faults/uses.test.ts'], amounts: { USES: 100_000 } },
  peers: { files: ['test/blockgame/peers.long.test.ts'], amounts: { PEER_ROWS: 1000 } },
  lists: { files: ['test/storage/lists.long.test.ts'], amounts: { LIST_ROWS: 10_000 } },
  answers: { files: ['test/http/unread-answers.long.test.ts'], amounts: { UNREAD_CONNECTIONS: 1000 } },
  bystander: {
    files: ['test/http/bystander.long.test.ts'],
    amounts: { BYSTANDER_CONNECTIONS: 1000, BYSTANDER_ROUNDS: 9 },
  },
  bodies: {
    files: ['test/http/bodies.long.test.ts'],
    amounts: { BODIES: 200, BODY_CHUNKS: 60_000, BODY_TARGETS: 'each', TRICKLERS: 5000 },
  },
}

interface Report {
  readonly testResults: readonly {
    readonly message: string
    readonly assertionResults: readonly {
      readonly title: string
      readonly status: string
      readonly duration?: number
      readonly meta: { readonly figures?: object }
      readonly failureMessages: readonly string[]
    }[]
  }[]
}

const asked = process.argv.slice(2)
if (asked[0] === 'failover' || asked[0] === 'mutants') {
  // A program with parameters of its own, which starts what it needs by itself.
  const program = ['--import', './test/support/sources.ts', `test/faults/${asked[0]}.ts`, ...asked.slice(1)]
  process.exit(spawnSync(process.execPath, program, { stdio: 'inherit' }).status ?? 1)
}
const unknown = asked.filter((name) => !(name in parts))
if (unknown.length > 0) {
  console.error(`There is no part ${unknown.join(', ')}. Name some of: ${Object.keys(parts).join(', ')}.`)
  process.exit(2)
}
const reports = Object.entries(parts)
  .filter(([name]) => asked.length === 0 || asked.includes(name))
  .map(([name, part]): [string, Report] => [name, run(part)])
for (const [name, report] of reports) print(name, report)

function run({ files, amounts }: Part): Report {
  const directory = mkdtempSync(join(tmpdir(), 'utility-api-faults-'))
  const file = join(directory, 'report.json')
  const output = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`]
  const texts = Object.entries(amounts).map(([name, amount]) => [name, String(amount)])
  const env = { ...Object.fromEntries(texts), ...process.env }
  const { status } = spawnSync('vitest', ['run', '--project', 'long', ...files, ...output], {
    env,
    stdio: 'inherit',
  })
  if (status !== 0) process.exitCode = 1
  const report = JSON.parse(readFileSync(file, 'utf8')) as Report
  removeFolder(directory)
  return report
}

function print(name: string, { testResults }: Report): void {
  console.log(`\n== ${name}`)
  for (const { message, assertionResults } of testResults) {
    if (message !== '') console.log(message)
    for (const { title, status, duration = 0, meta, failureMessages } of assertionResults) {
      const seconds = `${Math.round(duration / 1000)} s`.padStart(6)
      console.log(status, seconds, title, meta.figures === undefined ? '' : JSON.stringify(meta.figures))
      for (const failure of failureMessages) console.log(failure)
    }
  }
}
