import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Callers } from '../../src/bounds/callers.ts'
import { createOctetBudget } from '../../src/bounds/octet-budget.ts'

const full = expect.objectContaining({ code: 'unavailable', status: 503, retryAfterSeconds: 1 })
const kilobytes = (count: number): { readonly octets: number } => ({ octets: count * 1024 })
const maxOctets = 64 * 1024

test('one caller holds a quarter of the octets, and another may still hold as many', () => {
  const budget = createOctetBudget(maxOctets)
  for (let count = 0; count < 2; count += 1) budget.hold('greedy', kilobytes(8))
  expect(() => budget.hold('greedy', kilobytes(5))).toThrow(full)
  budget.hold('other', kilobytes(16))
})

test('all callers together hold no more than the whole', () => {
  const budget = createOctetBudget(maxOctets)
  for (let caller = 0; caller < 4; caller += 1) budget.hold(`caller ${caller}`, kilobytes(16))
  expect(() => budget.hold('late', kilobytes(5))).toThrow(full)
})

test('an answer counts once for all replies of a caller, until the last is written', () => {
  const budget = createOctetBudget(maxOctets)
  const answer = kilobytes(10)
  const written = Array.from({ length: 400 }, () => budget.hold('me', answer))
  expect(budget.size).toEqual({ octets: 10 * 1024, callers: 1 })
  for (const each of written.slice(1)) each?.()
  expect(budget.size.octets).toBe(10 * 1024)
  written[0]?.()
  expect(budget.size).toEqual({ octets: 0, callers: 0 })
})

test('small answers are not counted', () => {
  const budget = createOctetBudget(maxOctets)
  for (let count = 0; count < 1000; count += 1) budget.hold('me', { octets: 4096 })
  expect(budget.size.octets).toBe(0)
})

test('what is collected for several callers counts against one that has room', () => {
  const budget = createOctetBudget(maxOctets)
  budget.hold('first', kilobytes(15))
  const callers = new Callers('first')
  callers.join('second')
  const collected = budget.collect(callers)
  collected.add(8 * 1024)
  collected.add(8 * 1024)
  expect(budget.size).toEqual({ octets: 31 * 1024, callers: 2 })
  expect(() => collected.add(5 * 1024)).toThrow(full)
  collected.end()
  expect(budget.size).toEqual({ octets: 15 * 1024, callers: 1 })
})

test('what comes after the end of the collection is not counted forever', () => {
  const budget = createOctetBudget(maxOctets)
  const collected = budget.collect(new Callers('me'))
  collected.end()
  expect(() => collected.add(5000)).toThrow(full)
  expect(budget.size.octets).toBe(0)
})

test('whatever is held, collected and let go, no bound is passed and nothing stays', () => {
  const caller = fc.constantFrom('a', 'b', 'c', 'd', 'e')
  const step = fc.record({
    caller,
    answer: fc.nat(5),
    action: fc.constantFrom('hold', 'written', 'collect', 'end'),
    octets: fc.integer({ min: 4097, max: 20_000 }),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const budget = createOctetBudget(maxOctets)
      const answers = [1, 2, 3, 4, 5, 6].map((size) => ({ octets: size * 5000 }))
      const open: (() => void)[] = []
      for (const { caller: name, answer, action, octets } of steps) {
        try {
          if (action === 'hold') open.push(budget.hold(name, answers[answer]!)!)
          else if (action === 'collect') {
            const collected = budget.collect(new Callers(name))
            open.push(collected.end)
            collected.add(octets)
          } else open.shift()?.()
        } catch (error) {
          expect(error).toEqual(full)
        }
        expect(budget.size.octets).toBeLessThanOrEqual(maxOctets)
        expect(budget.size.octets).toBeLessThanOrEqual((budget.size.callers * maxOctets) / 4)
      }
      for (const each of open) each()
      expect(budget.size).toEqual({ octets: 0, callers: 0 })
    }),
  )
})
