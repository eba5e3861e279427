import type { SecretKind } from '../domain/credentials.ts'

/**
 * Generates license keys, secrets and identifiers. Every method is synchronous, MUST NOT throw, and MUST draw from a
 * cryptographically secure source outside of tests.
 *
 * @group Ports
 */
export interface KeyGenerator {
  /**
   * Returns a new license key that starts with `prefix`.
   *
   * MUST be practically unique. If a key is taken, a new one is generated, at most three times.
   */
  licenseKey(prefix: string): string
  /**
   * Returns the canonical form of a license key as a person typed it, without the blanks around it, or null if no such
   * key can exist. Storage is not called for null.
   *
   * Text this generator did not make MUST be returned as it is, so that keys with another prefix or from another
   * generator are found. Text with control characters SHOULD return null, because some databases cannot store NUL.
   */
  parseLicenseKey(text: string, prefix: string): string | null
  /**
   * Returns a new secret of at least 128 random bits. MUST consist of letters, digits and `-._~+/`, perhaps with `=`
   * at its end, which every header and body can carry (RFC 6750 section 2.1); any other is refused and not stored.
   *
   * `at` is the injected clock's time in milliseconds since the epoch, for generators whose secrets begin with it.
   */
  secret(kind: SecretKind, at: number): string
  /** Returns a new row identifier: unique, safe to log, in visible ASCII without spaces. `at` is as for `secret`. */
  id(at: number): string
}
