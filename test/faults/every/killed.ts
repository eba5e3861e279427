import { readFileSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { sqliteStorage } from 'utility-api/storage/sqlite'
import { storageContract } from '../../../src/testing/storage-contract.ts'
import { History } from '../../histories/support/recording.ts'
import { temporaryFile } from '../../storage/support/sqlite-fixture.ts'
import { settle } from './settle.ts'
import { onSteps } from './sqlite.ts'
import { Steps } from './steps.ts'

/** What a process that is killed at a step leaves behind: its files as they are, and what it had answered. */
interface Remains {
  readonly step: number
  readonly files: readonly (readonly [suffix: string, content: Uint8Array])[]
  readonly history: History
}

/** What came of a case whose process is killed at each of some steps. */
export interface Killings {
  readonly applies: boolean
  readonly steps: number
  readonly tried: number
  readonly wrong: readonly string[]
  readonly right: number
  readonly undecided: number
}

/**
 * Runs a case once, and keeps what a kill would leave after each of some steps. SIGKILL takes nothing from a file that
 * was written to: the next process finds the database and its log as they are then.
 */
export async function killAtSteps(
  name: string,
  stepsOf: (count: number) => readonly number[],
): Promise<Killings> {
  const counted = await run(name, [])
  const remains = counted.applies ? (await run(name, stepsOf(counted.steps))).remains : []
  const verdicts = []
  for (const each of remains) verdicts.push({ step: each.step, ...(await judgeRemains(each)) })
  return {
    applies: counted.applies,
    steps: counted.steps,
    tried: remains.length,
    wrong: verdicts.flatMap(({ step, wrong }) => wrong.map((what) => `step ${step}: ${what}`)),
    right: verdicts.reduce((sum, { right }) => sum + right, 0),
    undecided: verdicts.reduce((sum, { undecided }) => sum + undecided, 0),
  }
}

async function run(
  name: string,
  wanted: readonly number[],
): Promise<{ applies: boolean; steps: number; remains: readonly Remains[] }> {
  const steps = new Steps()
  const remains: Remains[] = []
  const make = async (): Promise<{
    storage: ReturnType<History['record']>
    second: ReturnType<History['record']>
    close(): void
  }> => {
    steps.end()
    const { path, remove } = temporaryFile()
    const history = new History()
    const databases = [new DatabaseSync(path), new DatabaseSync(path)] as const
    const [first, second] = databases.map((database) =>
      onSteps(database, (work) => {
        try {
          return work()
        } finally {
          steps.take()
          if (wanted.includes(steps.taken) && remains.at(-1)?.step !== steps.taken)
            remains.push({ step: steps.taken, files: copyOf(path), history: history.copy() })
        }
      }),
    )
    if (first === undefined || second === undefined) throw new Error('two connections')
    const storage = sqliteStorage(first)
    await storage.migrate()
    const fixture = { storage: history.record(storage), second: history.record(sqliteStorage(second)) }
    steps.begin(0)
    return {
      ...fixture,
      close() {
        for (const database of databases) database.close()
        remove()
      },
    }
  }
  const answer = await storageContract(make, { calls: 40 })
    .find((each) => each.name === name)
    ?.run()
  return { applies: answer === 'passed', steps: steps.taken, remains }
}

/** The database and its log, without the index of the log: whoever opens them makes it anew. */
function copyOf(path: string): Remains['files'] {
  return ['', '-wal'].flatMap((suffix): Remains['files'] => {
    try {
      return [[suffix, readFileSync(path + suffix)]]
    } catch {
      return []
    }
  })
}

async function judgeRemains({ files, history }: Remains): Promise<ReturnType<History['judge']>> {
  const { path, remove } = temporaryFile()
  for (const [suffix, content] of files) writeFileSync(path + suffix, content)
  const database = new DatabaseSync(path)
  const storage = sqliteStorage(database)
  const verdict = await settle({ storage, reopen: () => storage }, history)
  const [check] = database.prepare('PRAGMA integrity_check').all() as { integrity_check: string }[]
  database.close()
  remove()
  if (check?.integrity_check === 'ok') return verdict
  return { ...verdict, wrong: [...verdict.wrong, `integrity_check: ${check?.integrity_check}`] }
}
