// Failovers of PostgreSQL under load: `npm run faults -- failover`. Nothing acknowledged may be lost, nothing made twice.
//   --rounds 20         the faults take turns
//   --clients 64        20 of them race for codes, the others generate and update
//   --deadline 4000     milliseconds that a request has for its storage calls
//   --fault NAME        this one only
//   --sabotage WHAT     local, lagging or trusting: leaves out what prevents the loss, which has to be found then
import { parseArgs } from 'node:util'
import { findBinaries } from './failover/binaries.ts'
import { countsOf, isLate, summarize } from './failover/report.ts'
import { faultNames } from './failover/rounds.ts'
import { runFailover, type Sabotage } from './failover/run.ts'

const sabotages: readonly Sabotage[] = ['local', 'lagging', 'trusting']

/** How long after a promotion all servers may take to acknowledge writes again, beside what the machine lets them wait. */
const maxBackMs = 5000

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    clients: { type: 'string', default: '64' },
    deadline: { type: 'string', default: '4000' },
    fault: { type: 'string' },
    sabotage: { type: 'string' },
  },
})
const sabotage = sabotages.find((each) => each === values.sabotage)
if (sabotage !== values.sabotage) throw new Error(`Name one of: ${sabotages.join(', ')}.`)
const faults = faultNames.filter((name) => values.fault === undefined || name === values.fault)
if (faults.length === 0) throw new Error(`Name one of: ${faultNames.join('; ')}.`)
const deadlineMs = Number(values.deadline)

// So that what runs on exit runs: no server and no directory is left.
process.on('SIGINT', () => process.exit(130)).on('SIGTERM', () => process.exit(143))

const binaries = await findBinaries()
if (binaries === null) {
  console.log('Skipped: there is no PostgreSQL here, or no user "postgres" to run it.')
} else {
  const results = await runFailover(binaries, {
    rounds: Number(values.rounds),
    clients: Number(values.clients),
    deadlineMs,
    faults,
    sabotage,
    onRound: ({ fault, ledger, lost, doubled, history, backAfterMs, stallMs }) =>
      console.log(
        `${fault}: ${ledger.acknowledged} acknowledged, ${lost.length} lost, ${doubled.length} doubled, ${history.wrong.length} histories without an order of ${history.right + history.wrong.length}, longest answer ${Math.round(ledger.longestMs)} ms, longest stall ${Math.round(stallMs)} ms, writes back after ${backAfterMs === null ? '-' : Math.round(backAfterMs)} ms`,
      ),
  })
  console.table(summarize(results, deadlineMs))
  const failed = results.some(
    (round) =>
      round.lost.length + round.doubled.length + round.history.wrong.length + round.history.undecided > 0 ||
      round.backAfterMs === null ||
      round.backAfterMs > maxBackMs + round.stallMs ||
      (round.abandoned ?? 0) > 0 ||
      isLate(round, deadlineMs),
  )
  const never = Object.entries(countsOf(results)).filter(([, count]) => count === 0)
  for (const [what] of never) console.log(`${what}: never seen, so nothing is shown of it`)
  for (const wrong of results.flatMap(({ history }) => history.wrong).slice(0, 3)) console.log(wrong)
  process.exitCode = failed || never.length > 0 ? 1 : 0
}
