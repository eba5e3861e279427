/** A source of numbers that a seed repeats: any whole number from 0 to below `bound`. */
export type Random = (bound: number) => number

/** The generator known as mulberry32. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0
  return (bound) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * bound)
  }
}

export function pick<Value>(random: Random, values: readonly [Value, ...Value[]] | readonly Value[]): Value {
  return values[random(values.length)] as Value
}
