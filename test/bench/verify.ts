// What verifying costs in a route of one's own, beside what our own operations pay for the same check:
// `npx tsup && node test/bench/verify.ts`. CHECK_ROUNDS changes how long.
import { createAdmin, createUtilityApi } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { andThen, timedStorage } from '../../src/ports/timed-storage.ts'
import { callWithin } from '../../src/ports/storage-call.ts'
import { bearerScheme, bearerToken } from '../../src/security/bearer.ts'
import { systemClock } from '../../src/system/clock.ts'
import { printTable } from './table.ts'

const rounds = Number(process.env['CHECK_ROUNDS'] ?? 41)
const calls = 20_000
const scope = 'orders:read'

const storage = memoryStorage()
const { accessToken } = await createAdmin({ storage }).createAccessToken({ scope })
const authorization = `Bearer ${accessToken}`
const api = createUtilityApi({ storage })
const scheme = bearerScheme({ storage: timedStorage(storage), clock: systemClock }, 'access_token', '')

const subjects = {
  'api.verifyAccessToken': () => api.verifyAccessToken(bearerToken(authorization), { scope }),
  "the scheme's own checks": () =>
    andThen(
      scheme.authenticate({ header: () => authorization, body: new Map(), ...callWithin(5000) }),
      (caller) => scheme.requirePermission(caller, scope),
    ),
}

async function microsecondsOf(work: () => unknown): Promise<number> {
  const start = process.cpuUsage()
  for (let call = 0; call < calls; call += 1) await work()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / calls
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

// In turns, so that whatever else the machine does falls on both.
const figures = Object.entries(subjects).map(([name, work]) => ({ name, work, samples: [] as number[] }))
for (const { work } of figures) await microsecondsOf(work)
for (let round = 0; round < rounds; round += 1) {
  for (const { work, samples } of figures) samples.push(await microsecondsOf(work))
}
printTable(
  `One check of an access token, memory storage, ${rounds} rounds of ${calls}, medians of CPU time.`,
  figures.map(({ name, samples }) => ({
    check: name,
    µs: median(samples).toFixed(2),
    'to the scheme': (median(samples) / median(figures[1]?.samples ?? [])).toFixed(2),
  })),
)
