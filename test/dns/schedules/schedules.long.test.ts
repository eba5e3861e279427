import { expect, test } from 'vitest'
import { missingPackages } from './resolvers.ts'
import { runSchedules } from './run-schedules.ts'

// Some schedules of `npm run test:schedules`: one of each kind of change, and one more.
const missing = missingPackages()
if (missing.length > 0)
  console.warn(`Skipped: ${missing.join(', ')} not found (Debian: apt-get install ${missing.join(' ')}).`)

test.skipIf(missing.length > 0)(
  'a change behind twelve caching resolvers has arrived when it has, and by the time that was said',
  async () => {
    const { resolvers, seen, wrong } = await runSchedules(12, 12, 1)
    expect(resolvers).toHaveLength(12)
    expect(seen).toHaveLength(12)
    // Otherwise nothing was waited for, and no time was said.
    expect(seen.flatMap(({ times }) => times).length).toBeGreaterThan(50)
    expect(wrong).toEqual([])
  },
  120_000,
)
