import { expect, test } from 'vitest'
import { onMemory, onModel, total } from './support/enumerate.ts'
import { planted } from './support/planted.ts'
import { accessRequests, licenseRequests } from './support/requests.ts'
import { portCalls } from './support/port-calls.ts'

// Two calls, two servers, and every order of their steps; at length also with a fault at each step.

const requests = [...accessRequests, ...licenseRequests]
const atLength = process.env['INTERLEAVING_FAULTS'] !== undefined

test.each([
  { of: 'requests', calls: requests, faults: false, ways: 932 },
  ...(atLength
    ? [
        { of: 'requests', calls: requests, faults: true, ways: 10_400 },
        { of: 'methods that write', calls: portCalls, faults: true, ways: 4158 },
      ]
    : []),
])(
  'every two $of in $ways ways, faults: $faults',
  async ({ calls, faults, ways }) => {
    const found = await onMemory(calls, { faults })
    expect([...found.wrong.values()].at(0)).toBeUndefined()
    // Fewer are orders that are no longer tried.
    expect(total(found)).toBe(ways)
  },
  600_000,
)

if (atLength)
  test.each(planted)('found: a store that $what', async ({ foundBy, change }) => {
    const calls = foundBy.some((pair) => /exchange/.test(pair)) ? accessRequests : licenseRequests
    const { wrong } = await onModel(calls, change)
    expect([...wrong.keys()]).toEqual(foundBy)
  })
