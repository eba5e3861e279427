/** A text that can be made longer: a start, a part that repeats, and an end. */
export interface PumpedText {
  readonly prefix: string
  readonly pump: string
  readonly suffix: string
  /** The length that its cost is taken at. */
  readonly length: number
}

/** Returns a text of about this length. */
export function textOf({ prefix, pump, suffix }: Omit<PumpedText, 'length'>, length: number): string {
  return prefix + pump.repeat(Math.ceil(length / pump.length)) + suffix
}

/** What grammars begin, end, divide or escape with, and what lies outside of most of them. */
export const commonParts: readonly string[] = [
  ...'a0:.%"\\/@[{= \t\0\n-*&§\'é中。\ud800',
  'xn--',
  '::',
  '\\"',
  '%7B',
  '*.',
  '💎',
  '§a',
]
export const commonStarts: readonly string[] = ['[', '"', 'Bearer ', 'Basic ']

/** Yields each part repeated behind each start. The end fits to none of them: what is matched must be tried again. */
export function* pumpedTexts(parts: readonly string[], starts: readonly string[]): Generator<PumpedText> {
  for (const pump of parts)
    for (const prefix of ['', ...starts]) yield { prefix, pump, suffix: '\0', length: 4096 }
}

/**
 * Yields texts of a few parts each, the same ones for the same seed. Short ones are as frequent as long ones: as many have 1,000 to
 * 2,000 characters as 2,000 to 4,000.
 */
export function* randomTexts(
  parts: readonly string[],
  amount: number,
  longest: number,
  seed: number,
): Generator<PumpedText> {
  let state = seed | 1
  const below = (limit: number): number => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % limit
  }
  const some = (count: number): string =>
    Array.from({ length: count }, () => parts[below(parts.length)]).join('')
  const shortest = 256
  for (let count = 0; count < amount; count += 1) {
    const length = Math.round(shortest * (longest / shortest) ** (below(1000) / 999))
    yield { prefix: some(below(4)), pump: some(1 + below(4)), suffix: some(below(3)), length }
  }
}
