/** Numbers that look random and are the same for the same seed. */
export interface Random {
  /** Returns an integer from 0 up to but not including `limit`. */
  integer(limit: number): number
  /** Returns one of the items, of which there must be at least one. */
  pick<Item>(items: readonly Item[]): Item
  /** Returns this many different items, in any order. */
  some<Item>(items: readonly Item[], count: number): Item[]
  /** Returns true in this many of a hundred cases. */
  chance(percent: number): boolean
}

/** Creates a linear congruential generator (Numerical Recipes): good enough to choose among few things. */
export function createRandom(seed: number): Random {
  let state = Math.imul(seed, 2_654_435_761) >>> 0
  function integer(limit: number): number {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    // Uses the high bits, because the low bits of such a generator repeat soon.
    return Math.floor((state / 2 ** 32) * limit)
  }
  return {
    integer,
    pick: (items) => items[integer(items.length)] as (typeof items)[number],
    some: (items, count) => {
      const left = [...items]
      return Array.from({ length: Math.min(count, left.length) }, () =>
        left.splice(integer(left.length), 1),
      ).flat()
    },
    chance: (percent) => integer(100) < percent,
  }
}
