import { expect, test } from 'vitest'
import { findBinaries } from './failover/binaries.ts'
import { countsOf, summarize } from './failover/report.ts'
import { runFailover } from './failover/run.ts'

/** The two rounds of the short form; the program beside this file runs them all, and at length. */
const faults = ['primary killed', 'commit waits canceled'] as const
const deadlineMs = 2000

const binaries = await findBinaries()
if (binaries === null) console.log('Skipped: there is no PostgreSQL here, or no user "postgres" to run it.')

test.skipIf(binaries === null)(
  'a killed primary and canceled commit waits: nothing acknowledged is lost or made twice, and reads go on',
  async ({ task }) => {
    if (binaries === null) return
    const rounds = Number(process.env['FAILOVER_ROUNDS'] ?? faults.length)
    const results = await runFailover(binaries, { rounds, clients: 32, deadlineMs, faults })
    Object.assign(task.meta, { figures: summarize(results, deadlineMs) })
    expect(results.flatMap(({ lost }) => lost)).toEqual([])
    expect(results.flatMap(({ doubled }) => doubled)).toEqual([])
    expect(results.flatMap(({ history }) => history.wrong)).toEqual([])
    expect(results.map(({ history }) => history.undecided)).toEqual(results.map(() => 0))
    expect(Object.entries(countsOf(results)).filter(([, count]) => count === 0)).toEqual([])
    for (const { fault, backAfterMs, probes, ledger } of results) {
      expect(ledger.acknowledged, fault).toBeGreaterThan(0)
      expect(backAfterMs, `${fault}: all servers write again`).not.toBeNull()
      for (const { asked, answered } of Object.values(probes ?? {})) {
        expect(answered, `${fault}: reads and health while commits wait`).toBeGreaterThan(asked * 0.9)
      }
    }
  },
  120_000,
)
