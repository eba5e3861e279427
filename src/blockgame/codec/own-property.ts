/** A property of an object's own; undefined for inherited ones, so that no polluted prototype answers for a server. */
export function own(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
  return (value as Record<string, unknown>)[key]
}
