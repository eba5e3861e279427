import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { orderSrvRecords, type SrvRecord } from '../../src/blockgame/srv-order.ts'

const record = fc.record<SrvRecord>({
  pri: fc.integer({ min: 0, max: 3 }),
  weight: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 65_535 })),
  port: fc.integer({ min: 1, max: 65_535 }),
  target: fc.domain(),
})
const fraction = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

test('keeps every record once, by rising priority', () => {
  fc.assert(
    fc.property(fc.array(record, { maxLength: 8 }), fc.infiniteStream(fraction), (records, draws) => {
      const ordered = orderSrvRecords(records, 8, () => draws.next().value)
      expect(ordered.length).toBe(records.length)
      expect(new Set(ordered)).toEqual(new Set(records))
      expect(ordered.map(({ pri }) => pri)).toEqual(records.map(({ pri }) => pri).toSorted((a, b) => a - b))
    }),
  )
})

test('draws by weight: each record for its share of the draws', () => {
  const records = [10, 0, 30, 60].map((weight, index) => ({ pri: 1, weight, port: 1, target: `t${index}` }))
  const firsts = { t0: 0, t1: 0, t2: 0, t3: 0 }
  // The running sums 0, 10, 40, 100 take 1, 10, 30 and 60 of the 101 values a draw can have (RFC 2782).
  for (let draw = 0; draw <= 100; draw += 1) {
    const [first] = orderSrvRecords(records, 1, () => (draw + 0.5) / 101)
    firsts[first!.target as keyof typeof firsts] += 1
  }
  expect(firsts).toEqual({ t0: 10, t1: 1, t2: 30, t3: 60 })
})

test('draws no more than it is asked for', () => {
  const records = Array.from({ length: 50 }, (_, index) => ({ pri: 0, weight: index, port: 1, target: 't' }))
  let draws = 0
  const random = (): number => {
    draws += 1
    return 0.5
  }
  expect(orderSrvRecords(records, 4, random)).toHaveLength(4)
  expect(draws).toBe(4)
})

test('does not change the records it was given', () => {
  const records = Object.freeze([2, 1].map((pri) => ({ pri, weight: 0, port: 1, target: 't' })))
  expect(orderSrvRecords(records, 2).map(({ pri }) => pri)).toEqual([1, 2])
})
