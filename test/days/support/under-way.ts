import type { Random } from '../../../src/testing/contract/random.ts'

/** Something that the world outside the servers has not done yet: a statement, an answer, a reply that is being written. */
export interface Pending {
  readonly label: string
  readonly happen: () => void
}

/** What is under way outside of the servers. A seed decides what happens next. */
export interface UnderWay {
  readonly size: number
  add(label: string, happen: () => void): void
  /** Lets one thing happen; if `wanted` is given, the first whose label it matches. Returns whether there was one. */
  release(wanted?: (label: string) => boolean): boolean
}

export function createUnderWay(random: Random, trace: (line: string) => void): UnderWay {
  const pending: Pending[] = []
  return {
    get size() {
      return pending.length
    },
    add(label, happen) {
      pending.push({ label, happen })
    },
    release(wanted) {
      if (pending.length === 0) return false
      const index =
        wanted === undefined
          ? random.integer(pending.length)
          : pending.findIndex(({ label }) => wanted(label))
      const [released] = index < 0 ? [] : pending.splice(index, 1)
      if (released === undefined) return false
      trace(`  ${released.label}`)
      released.happen()
      return true
    },
  }
}

// Captured now: a day takes the timers away, but not these.
const afterEvents = setImmediate

/** Resolves when nothing more happens by itself: what waits for a turn of the event loop has had a few. */
export async function settled(): Promise<void> {
  // oxlint-disable-next-line no-await-in-loop -- one turn after the other
  for (let turn = 0; turn < 4; turn += 1) await new Promise<void>((resolve) => afterEvents(resolve))
}
