import type { SecretKind } from '../domain/access.ts'
import { kindOfSecret } from '../domain/secret.ts'

/**
 * Says, for the log, that a secret is of another kind than the one needed, or returns undefined if its text names no
 * other. The sender is not told more than that it is invalid.
 */
export function wrongKind(needed: SecretKind, secret: string): string | undefined {
  const kind = kindOfSecret(secret)
  if (kind === undefined || kind === needed) return undefined
  return `The credential is of the kind ${kind}; ${needed} is needed.`
}
