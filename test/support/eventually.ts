import { vi } from 'vitest'

/** Waits until a check passes. A busy machine gets half a minute for it, not a second. */
export function eventually<Result>(
  check: () => Result | Promise<Result>,
  options: { readonly timeout?: number; readonly interval?: number } = {},
): Promise<Result> {
  return vi.waitFor(check, { timeout: 30_000, ...options })
}
