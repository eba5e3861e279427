/** Long answers of one caller, and how many of them are dealt with before another caller is answered. */
import type { DnsAnswer } from 'utility-api'
import { fixedClock } from 'utility-api/testing'
import { afterEach, expect, test, vi } from 'vitest'
import { ampleBudget, callerNamed, callWith } from './support/calls.ts'
import { checkDns } from '../../src/operations/check-dns.ts'
import { harmlessLogger } from '../../src/http/log.ts'
import { createResultCache } from '../../src/bounds/result-cache.ts'
import { timedDnsClient } from '../../src/bounds/timed-clients.ts'

afterEach(() => void vi.restoreAllMocks())

const clock = fixedClock()
const some = { status: 'NOERROR', cnameChain: [], latencyMs: 1 } as const
const record = { type: 'TXT', host: 'a.example', ttl: 0, txt: 'x', entries: ['x'] } as const
const text = 'y'.repeat(20_000)
/** Many records, or one over TCP. */
const longAnswers: Readonly<Record<string, DnsAnswer>> = {
  'many records': { ...some, transport: 'udp', records: Array.from({ length: 1000 }, () => record) },
  'a long text': { ...some, transport: 'tcp', records: [{ ...record, txt: text, entries: [text] }] },
}
const short: DnsAnswer = { ...some, transport: 'udp', records: [record] }

/** Counts the long texts that are made. */
function countRendered(): () => number {
  let rendered = 0
  const stringify = JSON.stringify.bind(JSON)
  vi.spyOn(JSON, 'stringify').mockImplementation((value: unknown) => {
    const json = stringify(value)
    if (json.length > 10_000) rendered += 1
    return json
  })
  return () => rendered
}

function operationAnswering(answerTo: (name: string) => DnsAnswer): ReturnType<typeof checkDns> {
  return checkDns({
    client: timedDnsClient({
      async query({ name }) {
        await turn()
        return answerTo(name)
      },
      close: async () => {},
    }),
    clock,
    logger: harmlessLogger(false),
    locations: ['192.0.2.1', '192.0.2.2'].map((ip) => ({ location: 'Here', ip, provider: 'Us' })),
    timeoutMs: 60_000,
    cacheTtlMs: 0,
    cache: createResultCache(clock),
    budget: ampleBudget(),
    maxConcurrentPerResolver: 100,
  })
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test.each(Object.entries(longAnswers))(
  'of %s that arrive at once, few are dealt with before another caller is answered',
  async (_, long) => {
    const operation = operationAnswering((name) => (name.startsWith('long') ? long : short))
    const ask = (domain: string, caller: string): Promise<unknown> =>
      Promise.resolve(
        operation.run({ domain, recordType: 'TXT' }, callerNamed(caller), callWith({ callerKey: caller })),
      )
    const rendered = countRendered()
    const all = Array.from({ length: 40 }, (_each, index) => ask(`long${index}.example`, 'one'))
    await turn()
    await ask('short.example', 'another')
    expect(rendered()).toBeLessThan(20)
    await Promise.all(all)
    expect(rendered()).toBe(80)
  },
)

test.each(Object.entries(longAnswers))(
  'of %s for a caller who has gone, few are dealt with',
  async (_, long) => {
    const operation = operationAnswering(() => long)
    const rendered = countRendered()
    const gone = new AbortController()
    const all = Array.from({ length: 40 }, (_each, index) =>
      operation.run(
        { domain: `long${index}.example`, recordType: 'TXT' },
        callerNamed('one'),
        callWith({ callerKey: 'one', signal: gone.signal }),
      ),
    )
    await turn()
    gone.abort(new Error('gone'))
    const settled = await Promise.allSettled(all)
    expect(settled.map(({ status }) => status)).toEqual(all.map(() => 'rejected'))
    for (let turns = 0; turns < 200; turns += 1) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await turn()
    }
    expect(rendered()).toBeLessThan(5)
  },
)
