import { expect, test } from 'vitest'
import { maxSteps, ReadingBudget, sizeError } from '../../src/dns/wire/budget.ts'
import { encodeQuery } from '../../src/dns/wire/encoded-query.ts'
import { readReply, readSections } from '../../src/dns/wire/reply.ts'
import { maxRecordsJsonBytes, recordJsonBytes } from '../../src/domain/dns-answer-limit.ts'
import { readFakeDnsQuery } from '../../src/testing/dns-query.ts'
import { hostileExchange, type Exchange } from '../fuzz/dns-zones.ts'
import { randomFrom } from '../fuzz/random.ts'
import { rawRecord, rawReply } from './support/messages.ts'

/** How many answers of hostile zones are read, each made from a seed of its own. */
const zones = Number(process.env['DNS_ZONES'] ?? 300)
const firstSeed = Number(process.env['DNS_SEED'] ?? Date.now() & 0x7fff_ffff)

/** What reading a message took: parts read, and bytes of JSON for its texts and for its records. */
function workOf({ message, query }: Exchange) {
  const budget = new ReadingBudget()
  let verdict = 'read'
  try {
    readSections(message, query, budget)
  } catch (error) {
    verdict = error === sizeError ? 'too large' : 'malformed'
  }
  return { verdict, steps: budget.steps, texts: budget.textBytes, records: budget.jsonBytes }
}

test('answers of hostile zones cost no more than the budget', { timeout: 600_000 }, ({ task }) => {
  const worst = { steps: 0, milliseconds: 0, seed: 0 }
  const seen = { read: 0, 'too large': 0, malformed: 0 }
  for (let seed = firstSeed; seed < firstSeed + zones; seed += 1) {
    const exchange = hostileExchange(randomFrom(seed))
    const { verdict, steps, texts, records } = workOf(exchange)
    seen[verdict as keyof typeof seen] += 1
    const where = `DNS_SEED=${seed}`
    expect(steps, where).toBeLessThanOrEqual(maxSteps + exchange.message.length)
    // Nothing is made of what is one too many: a name, or the texts of one record, which are counted first.
    expect(texts, where).toBeLessThan(maxRecordsJsonBytes + 6 * 65_535)
    expect(records, where).toBeLessThan(maxRecordsJsonBytes + 6 * 65_535)
    const started = performance.now()
    readReply(exchange.message, exchange.query)
    const milliseconds = performance.now() - started
    if (milliseconds > worst.milliseconds) Object.assign(worst, { milliseconds, seed })
    worst.steps = Math.max(worst.steps, steps)
  }
  // A report for people: on a busy machine, the time says little.
  Object.assign(task.meta, { figures: { zones, firstSeed, ...seen, ...worst } })
  expect(seen.read).toBeGreaterThan(zones / 2)
  expect(seen.malformed).toBeGreaterThan(zones / 20)
})

/** The ten of 10,000 that took longest, of those the worst of each type, and the work that they take. */
const kept: readonly (readonly [seed: number, type: string, ReturnType<typeof workOf>])[] = [
  [9284, 'AAAA', { verdict: 'too large', steps: 2078, texts: 0, records: 262148 }],
  [9154, 'AAAA', { verdict: 'read', steps: 2406, texts: 38987, records: 229834 }],
  [5108, 'DS', { verdict: 'read', steps: 14136, texts: 75189, records: 251561 }],
  [5259, 'TXT', { verdict: 'too large', steps: 7119, texts: 256228, records: 263468 }],
  [6521, 'DNSKEY', { verdict: 'read', steps: 2415, texts: 0, records: 237821 }],
  [9643, 'A', { verdict: 'read', steps: 5054, texts: 39031, records: 250794 }],
  [5968, 'SRV', { verdict: 'read', steps: 15680, texts: 72488, records: 242127 }],
  [5849, 'MX', { verdict: 'read', steps: 16283, texts: 134948, records: 228213 }],
  [4623, 'SOA', { verdict: 'read', steps: 8086, texts: 110262, records: 227770 }],
  [8380, 'NS', { verdict: 'read', steps: 11439, texts: 145088, records: 207689 }],
]

test.each(kept)('zone %i of %s records takes the work that it took', (seed, type, work) => {
  const exchange = hostileExchange(randomFrom(seed))
  expect(exchange.query.type).toBe(type)
  expect(workOf(exchange)).toEqual(work)
})

function txtOf(data: Buffer): Exchange {
  const query = encodeQuery('example.com', 'TXT')
  const asked = readFakeDnsQuery(query.message, 'tcp', 0, {})!
  return { query, message: rawReply(asked, { answers: [rawRecord({ type: 16, data })] }) }
}

test('60,000 empty strings are one step each, and are shown whole', () => {
  const exchange = txtOf(Buffer.alloc(60_000))
  // Two quotes and a comma for each.
  expect(workOf(exchange)).toMatchObject({ verdict: 'read', steps: 60_001, texts: 180_000 })
  const [record] = readSections(exchange.message, exchange.query).records
  expect(record).toMatchObject({ txt: '', entries: Array<string>(60_000).fill('') })
  expect(recordJsonBytes(record!)).toBeLessThan(maxRecordsJsonBytes)
})

test('of strings that are no UTF-8, none is made once they are too large', () => {
  const string = Buffer.concat([Buffer.of(255), Buffer.alloc(255, 0xff)])
  const exchange = txtOf(Buffer.concat(Array<Buffer>(250).fill(string)))
  // Their joined text alone, at five bytes an octet.
  expect(workOf(exchange)).toEqual({ verdict: 'too large', steps: 251, texts: 5 * 250 * 255, records: 1 })
})
