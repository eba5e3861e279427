import type { SecretKind } from '../domain/access.ts'

/**
 * Makes license keys, secrets and identifiers. Every method is synchronous, MUST NOT throw, and MUST draw from a
 * cryptographically secure source outside of tests.
 *
 * @group Ports
 */
export interface KeyGenerator {
  /**
   * A new license key that starts with `prefix`.
   *
   * MUST be practically unique; a key that is taken is generated anew, three times at most.
   */
  licenseKey(prefix: string): string
  /**
   * The canonical form of a license key as a person typed it; null: no such key can exist, so storage is not asked.
   *
   * Text this generator did not make MUST come back as it is, so that keys of another prefix or generator are found. Text
   * with control characters SHOULD be null: some databases store no NUL.
   */
  parseLicenseKey(text: string, prefix: string): string | null
  /**
   * A new secret of at least 128 random bits, in visible ASCII without spaces.
   *
   * `at` is the time by the injected clock, in milliseconds since the epoch, for generators whose secrets begin with it.
   */
  secret(kind: SecretKind, at: number): string
  /** A new identifier for a row: unique, safe to log, in visible ASCII without spaces. `at` as for `secret`. */
  id(at: number): string
}
