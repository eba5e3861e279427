/** Returns ` Did you mean serve?` if one of these words is close to what was typed, or an empty string if none is. */
export function suggestion(typed: string, known: readonly string[]): string {
  const [best] = known
    .map((word) => ({ word, distance: editDistance(typed, word) }))
    .filter(({ word, distance }) => distance <= (word.length < 5 ? 1 : 2))
    .toSorted((a, b) => a.distance - b.distance)
  return best === undefined ? '' : ` Did you mean ${best.word}?`
}

/** Counts the letters to change, add or remove. Returns Infinity if the lengths already differ by more than two. */
function editDistance(from: string, to: string): number {
  if (Math.abs(from.length - to.length) > 2) return Infinity
  let above = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (const [row, letter] of [...from].entries()) {
    const line = [row + 1]
    for (let column = 1; column <= to.length; column += 1) {
      const changed = (above[column - 1] ?? 0) + (letter === to[column - 1] ? 0 : 1)
      line.push(Math.min(changed, (above[column] ?? 0) + 1, (line[column - 1] ?? 0) + 1))
    }
    above = line
  }
  return above[to.length] ?? Infinity
}
