import { summarizeDnsCheck, type DnsArrivalSummary, type DnsCheckResult, type DnsStatus } from 'utility-api'

/** What came of a simulated change. */
export interface Outcome {
  /** Each time that it was said to have arrived too early, in words. */
  readonly early: readonly string[]
  /** Said if it never arrived, in words. */
  readonly endless: readonly string[]
  /** Whether all that answered had the new records while some old copy that was seen was alive. */
  readonly firstNew: number
  /** How many questions failed. */
  readonly failures: number
}

interface Copy {
  readonly isOld: boolean
  readonly expiresAt: number
}

/** One address that is asked, and the caches behind it. */
interface Location {
  readonly name: string
  readonly caches: (Copy | undefined)[]
  readonly round: (seconds: number) => number
  readonly failure: { readonly status: DnsStatus; readonly from: number; readonly to: number }
}

const toEnd: readonly DnsStatus[] = ['SERVFAIL', 'MALFORMED', 'TRUNCATED', 'TOO_LARGE', 'REFERRAL']
const mayLast: readonly DnsStatus[] = ['TIMEOUT', 'UNREACHABLE', 'REFUSED', 'FORMERR']
const changes = [
  { expected: ['192.0.2.80'], old: '192.0.2.7', moved: '192.0.2.80' },
  { expected: ['192.0.2.80'], old: null, moved: '192.0.2.80' },
  { expected: [], old: '192.0.2.7', moved: null },
] as const
const changedAt = 300

/** Changes a record behind resolvers, and checks until it has arrived. Time is simulated, in seconds. */
export function simulate(seed: number): Outcome {
  const random = randomFrom(seed)
  const upTo = (most: number): number => random() * most
  const oneOf = <Each>(all: readonly Each[]): Each => all[Math.floor(upTo(all.length))] as Each
  const change = oneOf(changes)
  const [ttl, newTtl] = [1 + Math.floor(upTo(120)), 1 + Math.floor(upTo(120))]
  const intervalSeconds = 1 + upTo(30)
  /** The zone's own servers, and when each has the change. */
  const servers = Array.from({ length: Math.floor(upTo(3)) }, () => changedAt + upTo(20))
  let lastOldEnd = changedAt

  const fetched = (now: number): Copy => {
    const isOld = now < (servers.length === 0 ? changedAt : oneOf(servers))
    const expiresAt = now + (isOld ? ttl : newTtl)
    if (isOld) lastOldEnd = Math.max(lastOldEnd, expiresAt)
    return { isOld, expiresAt }
  }
  const failureOf = (at: number): Location['failure'] => {
    const from = oneOf([0, changedAt - 20, changedAt, changedAt + upTo(60)])
    // The first location never fails for good: if nobody answers, nothing arrives.
    if (at > 0 && random() < 0.3) return { status: oneOf(mayLast), from, to: Infinity }
    return { status: oneOf([...toEnd, ...mayLast]), from, to: from + upTo(200) }
  }
  const locations = Array.from({ length: 1 + Math.floor(upTo(5)) }, (_, at): Location => ({
    name: `r${at}`,
    caches: Array.from({ length: 1 + Math.floor(upTo(4)) }, () => fetched(changedAt - upTo(ttl))),
    round: oneOf([Math.floor, Math.round, Math.ceil]),
    failure: random() < 0.5 ? failureOf(at) : { status: 'SERVFAIL', from: 0, to: 0 },
  }))

  const early: string[] = []
  let [firstNew, failures, round] = [0, 0, 0]
  /** The end of the last old copy that was seen from anybody. */
  let seenUntil = 0
  let previous: DnsArrivalSummary | undefined
  const failing = (now: number): DnsStatus[] =>
    locations
      .filter(({ failure: { from, to } }) => from <= now && now < to)
      .map((each) => each.failure.status)
  const ends = locations.map(({ failure: { to } }) => (to === Infinity ? 0 : to))

  for (let now = changedAt - 30; ; now += intervalSeconds) {
    round += 1
    const latency = upTo(0.4)
    const results = locations.map((location): DnsCheckResult => {
      const where = {
        location: location.name,
        ip: '192.0.2.53',
        provider: 'Simulated',
        latency_ms: latency * 1000,
      }
      const { status, from, to } = location.failure
      if (from <= now && now < to) {
        failures += 1
        return { ...where, dns_results: [], resolved: false, status }
      }
      const at = Math.floor(upTo(location.caches.length))
      const kept = location.caches[at]
      const copy = kept !== undefined && now < kept.expiresAt ? kept : fetched(now)
      location.caches[at] = copy
      if (copy.isOld) seenUntil = Math.max(seenUntil, copy.expiresAt)
      return {
        ...where,
        ...saying(copy.isOld ? change.old : change.moved, location.round(copy.expiresAt - now)),
      }
    })
    const own = servers.map((from, at): DnsCheckResult => {
      const isOld = now < from
      if (isOld) seenUntil = Math.max(seenUntil, now + ttl)
      const where = {
        location: 'zone',
        ip: `198.51.100.${at}`,
        provider: `ns${at}`,
        latency_ms: latency * 1000,
      }
      return { ...where, ...saying(isOld ? change.old : change.moved, isOld ? ttl : newTtl) }
    })
    const endedAt = now + latency
    const summary = summarizeDnsCheck([...own, ...results], {
      recordType: 'A',
      expected: change.expected,
      authorities: own.map(({ ip }) => ip),
      at: new Date(Math.round(endedAt * 1000)),
      previous,
    })
    previous = JSON.parse(JSON.stringify(summary)) as DnsArrivalSummary
    const say = `change ${seed}, check ${round}`
    const isAlive = endedAt < seenUntil
    if (isAlive && summary.differing.length === 0 && summary.arrived.length > 0) firstNew += 1
    if (summary.verdict === 'arrived') {
      if (isAlive) early.push(`${say}: an old copy that was seen lives for ${seenUntil - endedAt} s more`)
      const failed = failing(now).filter((status) => toEnd.includes(status))
      if (failed.length > 0) early.push(`${say}: ${failed.join()}`)
      return { early, endless: [], firstNew, failures }
    }
    // Rounded up, and a second for those who round down; what is on its way.
    if (now > Math.max(lastOldEnd, seenUntil, ...ends) + 2.5)
      return { early, endless: [`${say}: ${summary.verdict}`], firstNew, failures }
  }
}

function saying(
  ip: string | null,
  ttl: number,
): Pick<DnsCheckResult, 'dns_results' | 'resolved' | 'status' | 'negative_ttl'> {
  if (ip === null) return { dns_results: [], resolved: false, status: 'NXDOMAIN', negative_ttl: ttl }
  return { dns_results: [{ type: 'A', host: 'example.com', ttl, ip }], resolved: true, status: 'NOERROR' }
}

/** The generator mulberry32. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
