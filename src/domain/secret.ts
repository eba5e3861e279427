import { hash, timingSafeEqual } from 'node:crypto'

/** SHA-256 of a secret: what is stored and looked up in its place. 32 bytes. */
export function hashSecret(secret: string): Uint8Array {
  // Not as 'buffer': a buffer of its own costs three times as much as one from the pool.
  return Buffer.from(hash('sha256', secret, 'binary'), 'binary')
}

/** Tells whether a secret is one of those hashed, in time that depends on neither the secret nor which one matched. */
export function matchesSecret(secret: string, hashes: readonly Uint8Array[]): boolean {
  const presented = hashSecret(secret)
  let matched = false
  for (const each of hashes) {
    // An early exit here would tell by its time which of two live secrets was tried.
    if (each.length === presented.length && timingSafeEqual(each, presented)) matched = true
  }
  return matched
}
