/**
 * Returns roughly how many characters a value takes as JSON. Stops counting soon after `enough`.
 *
 * Twice as fast as rendering the value, and a hundred times as fast if it is far too large. Strings are counted without
 * escapes, and numbers and the like as eight characters.
 */
export function jsonSize(value: unknown, enough: number = Number.POSITIVE_INFINITY): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return 8
  let size = 2
  if (Array.isArray(value)) {
    for (const item of value) if ((size += 1 + jsonSize(item, enough - size)) > enough) break
    return size
  }
  for (const [name, member] of Object.entries(value)) {
    size += name.length + 4 + jsonSize(member, enough - size)
    if (size > enough) break
  }
  return size
}
