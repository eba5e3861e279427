import { randomFillSync, randomUUID } from 'node:crypto'
import { invalidOption, requireOptions } from '../domain/arguments.ts'
import { crockford, licenseKeyOf, parseLicenseKey, randomLength } from '../domain/license-key.ts'
import { base62, secretPrefixes, timeSymbols, toTime48, withChecksum } from '../domain/secret.ts'
import type { SecretKind } from '../domain/credentials.ts'
import type { KeyGenerator } from '../ports/key-generator.ts'

// 62 × 4: bytes from this value on would make some symbols likelier than others.
const base62Limit = 248

/** The kinds that get a row for every exchange. The other kinds have few rows. */
const manyRows: ReadonlySet<SecretKind> = new Set(['access_token', 'authorization_code'])

/**
 * Options for {@link randomKeys}.
 *
 * @group Ports
 */
export interface RandomKeysOptions {
  /**
   * Whether access tokens, authorization codes and identifiers begin with the time they were made, so that their rows
   * are appended to a database's indexes instead of scattered over them. Use `false` for a store that is split by
   * ranges of keys, where all new rows would end up in one place. Default: `true`.
   */
  readonly timeOrdered?: boolean
}

/**
 * Creates the default key generator, which uses the operating system's secure random source.
 *
 * - License keys: the prefix and five groups of five Crockford base32 symbols, with 115 random bits and two check
 *   symbols. They are read in upper or lower case, including the prefix. After the prefix, `O` is read as `0`, and `I`
 *   or `L` as `1`. Blanks, line ends and characters of no width do not count, hyphens may be missing or dashes, and
 *   full-width symbols are read as others (NFKC). Any other text with control characters is not a key of any generator.
 * - Access tokens and authorization codes: `uapi_at_` and `uapi_ac_`, the time in milliseconds since the epoch in nine
 *   base62 symbols, 27 random ones (160 bits) and a CRC-32 in six more.
 * - Other secrets: `uapi_<kind>_`, 43 random base62 symbols (256 bits) and a CRC-32 in six more.
 * - Scanners can find leaked secrets with `\buapi_(?:ac|ak|at|cs|rt)_[0-9A-Za-z]{42}(?:[0-9A-Za-z]{7})?\b`.
 * - Identifiers: UUIDs of version 7, which begin with the time.
 *
 * Without `timeOrdered`, all secrets have the second form, and identifiers are UUIDs of version 4. Both forms are read
 * regardless of this option.
 *
 * @throws `UtilityApiError` `invalid_options` if an option is invalid or unknown
 *
 * @example
 * ```ts
 * randomKeys().licenseKey('LIC-') // 'LIC-7Z0KD-M4T9A-…'
 * ```
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc9562#section-5.7 | RFC 9562 section 5.7}
 *
 * @group Ports
 */
export function randomKeys(options: RandomKeysOptions = {}): KeyGenerator {
  requireOptions(options, ['timeOrdered'])
  const { timeOrdered = true } = options
  if (typeof timeOrdered !== 'boolean') throw invalidOption('timeOrdered', 'must be true or false')
  const nextByte = randomByteSource()

  function randomSymbols(alphabet: string, count: number, limit: number): string {
    let symbols = ''
    while (symbols.length < count) {
      const byte = nextByte()
      if (byte < limit) symbols += alphabet[byte % alphabet.length]
    }
    return symbols
  }

  return {
    licenseKey: (prefix) => licenseKeyOf(prefix, randomSymbols(crockford, randomLength, 256)),
    parseLicenseKey,
    secret(kind, at) {
      const body =
        timeOrdered && manyRows.has(kind)
          ? timeSymbols(at) + randomSymbols(base62, 27, base62Limit)
          : randomSymbols(base62, 43, base62Limit)
      return withChecksum(secretPrefixes[kind] + body)
    },
    id: (at) => (timeOrdered ? orderedUuid(at) : randomUUID()),
  }
}

/** Returns a UUID of version 7: a random one with the time and the version written over its beginning. */
function orderedUuid(at: number): string {
  const time = toTime48(at).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
}

/** Returns a source of bytes from a pool, because drawing 4096 at once costs hardly more than drawing 32. */
function randomByteSource(): () => number {
  const pool = new Uint8Array(4096)
  let used = pool.length
  return () => {
    if (used === pool.length) {
      randomFillSync(pool)
      used = 0
    }
    const byte = pool[used] ?? 0
    // A secret must not stay readable in the pool after it was returned.
    pool[used] = 0
    used += 1
    return byte
  }
}
