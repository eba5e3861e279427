/** Says that an argument has no such member, and which one may be meant, or which there are. */
export function notKnown(name: string, known: Iterable<string>): string {
  return `${name} is not known here${hint(name, known) || `, only ${[...known].join(', ')}`}.`
}

/** Returns the end of a sentence for a name that is nearly one of those that are known, or an empty string. */
export function hint(name: string, known: Iterable<string>): string {
  const meant = [...known].find((each) => isNear(name, each))
  return meant === undefined ? '' : `; ${meant} is`
}

const shortestStart = 4

/** Tells whether two names differ by case alone, by one letter, by two that are exchanged, or by a missing end. */
export function isNear(name: string, known: string): boolean {
  const [one, other] = [name.toLowerCase(), known.toLowerCase()]
  const shorter = Math.min(one.length, other.length)
  let [start, end] = [0, 0]
  while (start < shorter && one[start] === other[start]) start += 1
  if (start === shorter && shorter >= shortestStart) return true
  while (end < shorter - start && one.at(-1 - end) === other.at(-1 - end)) end += 1
  const [left, right] = [one, other].map((each) => each.slice(start, each.length - end)) as [string, string]
  return (
    (left.length <= 1 && right.length <= 1) ||
    (left.length === 2 && left === [...right].toReversed().join(''))
  )
}
