import { UtilityApiError } from '../domain/errors.ts'

/**
 * Throws one clear sentence if Node.js is too old. Without this, the first crash would come much later and say less.
 */
export function requireSupportedRuntime(versions: NodeJS.ProcessVersions = process.versions): void {
  if (versions['bun'] !== undefined || versions['deno'] !== undefined) return
  const [major = 0, minor = 0] = versions.node.split('.').map(Number)
  if (major > 22 || (major === 22 && minor >= 18)) return
  throw new UtilityApiError(
    'invalid_options',
    `utility-api needs Node.js 22.18 or newer; this is ${versions.node}.`,
  )
}
