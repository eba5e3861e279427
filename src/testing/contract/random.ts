/** Numbers that look random and are the same for the same seed. */
export interface Random {
  /** An integer from 0 up to, not including, `limit`. */
  integer(limit: number): number
  /** One of several, which must not be none. */
  pick<Item>(items: readonly Item[]): Item
  /** So many different ones of several, in any order. */
  some<Item>(items: readonly Item[], count: number): Item[]
  /** True in so many of a hundred cases. */
  chance(percent: number): boolean
}

/** A linear congruential generator (Numerical Recipes): good enough to choose among few things. */
export function createRandom(seed: number): Random {
  let state = Math.imul(seed, 2_654_435_761) >>> 0
  function integer(limit: number): number {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    // The high bits: the low ones of such a generator come round soon.
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
