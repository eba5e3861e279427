/**
 * Returns an object's own property, or undefined for inherited ones, because a polluted prototype must not answer for a
 * server.
 */
export function own(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
  return (value as Record<string, unknown>)[key]
}
