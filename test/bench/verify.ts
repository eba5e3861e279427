// What verifying costs in a route of one's own, beside what our own operations pay for the same check:
// `npx tsup && node test/bench/verify.ts`. CHECK_ROUNDS changes how long.
import { createAdmin, createUtilityApi } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { andThen } from '../../src/domain/maybe-promise.ts'
import { timedStorage } from '../../src/storage/timed-storage.ts'
import { callWithin } from '../../src/ports/storage-call.ts'
import { bearerScheme, bearerToken } from '../../src/security/bearer.ts'
import { systemClock } from '../../src/system/clock.ts'
import { cpuTimes } from './cpu-time.ts'
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

const figures = await cpuTimes(subjects, { rounds, calls })
printTable(
  `One check of an access token, memory storage, ${rounds} rounds of ${calls}, medians of CPU time.`,
  figures.map(({ name, microseconds }) => ({
    check: name,
    µs: microseconds.toFixed(2),
    'to the scheme': (microseconds / (figures[1]?.microseconds ?? Number.NaN)).toFixed(2),
  })),
)
