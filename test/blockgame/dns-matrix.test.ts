import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import type { Connection, Listener } from '../../src/blockgame/connection.ts'
import { DeadlineScope } from '../../src/blockgame/deadline-scope.ts'
import type { DnsAnswer } from '../../src/domain/dns-answer.ts'
import type { DnsRecord } from '../../src/domain/dns-record.ts'
import type { DnsClient } from '../../src/ports/dns-client.ts'
import { encodePacket, encodeStatusPacket } from '../../src/testing/blockgame-packets.ts'
import { startClient } from './support/harness.ts'

// Every way that A and AAAA can go wrong, and every way to get there: who answers, and when. The clock is a fake one,
// so that the times are exact, and so are the connections: no address of this machine drops packets.

const timeoutMs = 5000
const dnsBudgetMs = timeoutMs / 2
const attemptDelayMs = 250
const resolutionDelayMs = 50

/** How one family of a name fares: when its answer is in, and what becomes of a connection to its address. */
interface State {
  readonly answerMs: number
  readonly address: 'good' | 'dead' | 'black hole' | 'none'
}

const states: Readonly<Record<string, State>> = {
  'at once': { answerMs: 0, address: 'good' },
  late: { answerMs: 120, address: 'good' },
  'lost once': { answerMs: 0.3 * dnsBudgetMs, address: 'good' },
  lost: { answerMs: dnsBudgetMs, address: 'none' },
  refused: { answerMs: 0, address: 'none' },
  'dead address': { answerMs: 0, address: 'dead' },
  'black hole': { answerMs: 0, address: 'black hole' },
}
type StateName = keyof typeof states

const ways = ['no SRV', 'one SRV', 'two SRV', 'an alias', 'SRV lost'] as const
type Way = (typeof ways)[number]

const addressOf = { good: 1, dead: 2, 'black hole': 3, none: 4 } as const
const outcomes = ['', 'good', 'dead', 'black hole', 'none']
const ipv4 = ({ address }: State): string => `192.0.2.${addressOf[address]}`
const ipv6 = ({ address }: State): string => `2001:db8::${addressOf[address]}`
const secondIp = '192.0.2.11'
const host = 'mc.example.com'

function dnsOf(way: Way, a: State, aaaa: State): DnsClient {
  const nameWithStates = way === 'one SRV' || way === 'two SRV' ? 'first.example.net' : host
  const answers: Record<string, { answerMs: number; text: readonly string[] }> = {
    [`A ${nameWithStates}`]: { answerMs: a.answerMs, text: a.address === 'none' ? [] : [ipv4(a)] },
    [`AAAA ${nameWithStates}`]: {
      answerMs: aaaa.answerMs,
      text: aaaa.address === 'none' ? [] : [ipv6(aaaa)],
    },
    'A second.example.net': { answerMs: 0, text: [secondIp] },
  }
  const targets = { 'one SRV': ['first.example.net'], 'two SRV': ['first.example.net', 'second.example.net'] }
  if (way === 'SRV lost') answers[`SRV _minecraft._tcp.${host}`] = { answerMs: timeoutMs, text: [] }
  if (way === 'one SRV' || way === 'two SRV')
    answers[`SRV _minecraft._tcp.${host}`] = { answerMs: 0, text: targets[way] }
  return {
    async query({ name, type, timeoutMs: limitMs = 0 }) {
      const { answerMs, text } = answers[`${type} ${name}`] ?? { answerMs: 0, text: [] }
      if (answerMs > 0) await new Promise((resolve) => setTimeout(resolve, Math.min(answerMs, limitMs)))
      const owner = way === 'an alias' ? 'real.example.net' : name
      return answer(
        text.map((each, index) => recordOf(type, owner, each, index)),
        owner === name ? [] : [name, owner],
      )
    },
    close: async () => {},
  }
}

function recordOf(type: string, owner: string, text: string, index: number): DnsRecord {
  const base = { host: owner, ttl: 60 }
  if (type === 'A') return { ...base, type, ip: text }
  if (type === 'AAAA') return { ...base, type, ip: text, ipv6: text }
  return { ...base, type: 'SRV', pri: index, weight: 0, port: 25566, target: text }
}

function answer(records: readonly DnsRecord[], cnameChain: readonly string[]): DnsAnswer {
  const status = records.length > 0 ? 'NOERROR' : 'NODATA'
  return { status, records, cnameChain, transport: 'udp', latencyMs: 0 } as DnsAnswer
}

/** Replaces connections: a good address answers at once, a dead one refuses at once, and a black hole does nothing. */
function fakeConnections(): { ip: string; atMs: number }[] {
  const opened: { ip: string; atMs: number }[] = []
  const status = encodeStatusPacket({ players: { online: 1, max: 2 } })
  const startedAt = performance.now()
  const open = vi.spyOn(DeadlineScope.prototype, 'open').mockImplementation(({ ip }) => {
    opened.push({ ip, atMs: performance.now() - startedAt })
    const outcome = ip === secondIp ? 'good' : outcomes[Number(ip.at(-1))]
    let listener: Listener | undefined
    let writes = 0
    const connection = {
      tell(next: Listener) {
        const first = listener === undefined
        listener = next
        if (first && outcome === 'good') queueMicrotask(() => next.opened?.())
        if (first && outcome === 'dead')
          queueMicrotask(() => next.closed(Object.assign(new Error(), { code: 'ECONNREFUSED' })))
      },
      write(_: Uint8Array, sent: () => void) {
        sent()
        const reply = (writes += 1) === 1 ? status : encodePacket(1, new Uint8Array(8))
        queueMicrotask(() => listener?.received?.(reply))
      },
      cut() {},
      close() {},
    }
    return connection as unknown as Connection
  })
  onTestFinished(() => open.mockRestore())
  return opened
}

interface Outcome {
  /** The address that answered, or why none did. */
  readonly answer: string
  readonly atMs: number
}

/** What RFC 8305 says: tried as they come in, one 250 ms after the other or as soon as that has failed. */
function expectedOf(way: Way, a: State, aaaa: State): Outcome {
  const startMs = way === 'SRV lost' ? Math.floor(timeoutMs / 3) : 0
  const firstIn = (state: State): number => Math.max(state.answerMs, startMs)
  const ipv6In = Math.max(firstIn(aaaa), Math.min(firstIn(a), firstIn(aaaa) + resolutionDelayMs))
  const left = [
    { order: 0, inMs: firstIn(a), ip: ipv4(a), outcome: a.address },
    { order: 1, inMs: ipv6In, ip: ipv6(aaaa), outcome: aaaa.address },
  ].filter(({ outcome }) => outcome !== 'none')
  const resolvedAt = Math.max(firstIn(a), firstIn(aaaa), startMs)
  if (way === 'two SRV')
    left.push({ order: 2, inMs: Math.min(attemptDelayMs, resolvedAt), ip: secondIp, outcome: 'good' })
  const none = left.length === 0
  let freeAt = 0
  let hanging = false
  while (left.length > 0) {
    const nextAt = Math.max(freeAt, Math.min(...left.map(({ inMs }) => inMs)))
    const next = left.filter(({ inMs }) => inMs <= nextAt).toSorted((x, y) => x.order - y.order)[0]!
    left.splice(left.indexOf(next), 1)
    if (next.outcome === 'good') return { answer: next.ip, atMs: nextAt }
    hanging ||= next.outcome === 'black hole'
    freeAt = next.outcome === 'dead' ? nextAt : nextAt + attemptDelayMs
  }
  if (hanging) return { answer: 'timeout', atMs: timeoutMs }
  return { answer: none ? 'dns' : 'refused', atMs: resolvedAt }
}

const names = Object.keys(states) as StateName[]
const cells = ways.flatMap((way) => names.flatMap((a) => names.map((aaaa) => [way, a, aaaa] as const)))

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

test.for(cells)('%s, A %s, AAAA %s', async ([way, a, aaaa]) => {
  const [stateOfA, stateOfAaaa] = [states[a]!, states[aaaa]!]
  const opened = fakeConnections()
  const startedAt = performance.now()
  const client = startClient({ dns: dnsOf(way, stateOfA, stateOfAaaa) })
  const settled: Outcome[] = []
  const settle = (text: string): void => {
    settled.push({ answer: text, atMs: performance.now() - startedAt })
  }
  client.status({ host, timeoutMs }).then(
    ({ ip }) => settle(ip),
    ({ reason }: { reason: string }) => settle(reason),
  )
  await vi.advanceTimersByTimeAsync(0)
  for (let step = 0; settled.length === 0 && step < 100; step += 1) await vi.advanceTimersToNextTimerAsync()
  expect(settled).toEqual([expectedOf(way, stateOfA, stateOfAaaa)])
  expect(opened.length).toBeLessThanOrEqual(3)
})

test('the matrix has every cell', () => {
  expect(cells).toHaveLength(5 * 7 * 7)
})
