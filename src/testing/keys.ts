import type { KeyGenerator } from '../ports/key-generator.ts'

/**
 * Creates predictable keys, secrets and ids, all numbered by one counter: `LIC-1`, then `id-2`. For tests only: anybody can
 * guess them.
 *
 * @example
 * ```ts
 * const api = createUtilityApi({ storage, keyGenerator: sequentialKeys() })
 * ```
 *
 * @group Testing
 */
export function sequentialKeys(): KeyGenerator {
  let last = 0
  const next = (): number => (last += 1)
  return {
    licenseKey: (prefix) => `${prefix}${next()}`,
    parseLicenseKey: (text) => text,
    secret: (kind) => `${kind}_${String(next()).padStart(32, '0')}`,
    id: () => `id-${next()}`,
  }
}
