import { randomFillSync, randomUUID } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { SecretKind } from '../domain/access.ts'
import type { KeyGenerator } from '../ports/key-generator.ts'

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const crockford = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const licenseKeyBody = /^[0-9A-TV-Z]{5}(?:-[0-9A-TV-Z]{5}){4}$/i
// The largest prime below 32 squared: every single substitution and every swap of neighbours changes the remainder.
const checkModulus = 1021
// 62 × 4: a byte from here on would make some symbols likelier than others.
const base62Limit = 248

const secretPrefixes: Record<SecretKind, string> = {
  access_token: 'uapi_at_',
  api_key: 'uapi_ak_',
  authorization_code: 'uapi_ac_',
  client_secret: 'uapi_cs_',
  reseller_token: 'uapi_rt_',
}

/**
 * The default key generator, on the operating system's secure random source.
 *
 * - License keys: the prefix and five groups of five Crockford base32 symbols: 115 random bits and two check symbols. Read
 *   back in any case, with `O` for `0` and `I` or `L` for `1`.
 * - Secrets: `uapi_<kind>_`, 43 base62 symbols (256 bits) and a CRC-32 in six more, so that scanners find leaked ones:
 *   `\buapi_(?:ac|ak|at|cs|rt)_[0-9A-Za-z]{49}\b`.
 * - Identifiers: UUIDs.
 *
 * @example
 * ```ts
 * randomKeys().licenseKey('LIC-') // 'LIC-7Z0KD-M4T9A-…'
 * ```
 *
 * @group Ports
 */
export function randomKeys(): KeyGenerator {
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
    licenseKey(prefix) {
      const random = randomSymbols(crockford, 23, 256)
      const symbols = random + checkSymbols(random)
      return `${prefix}${(symbols.match(/.{5}/g) ?? []).join('-')}`
    },
    parseLicenseKey,
    secret(kind) {
      const random = secretPrefixes[kind] + randomSymbols(base62, 43, base62Limit)
      return random + checksum(random)
    },
    id: () => randomUUID(),
  }
}

function parseLicenseKey(text: string, prefix: string): string | null {
  const body = text.slice(prefix.length)
  if (!text.startsWith(prefix) || !licenseKeyBody.test(body)) return text
  const canonical = body.toUpperCase().replaceAll('O', '0').replaceAll(/[IL]/g, '1')
  const symbols = canonical.replaceAll('-', '')
  return checkSymbols(symbols.slice(0, 23)) === symbols.slice(23) ? prefix + canonical : null
}

function checkSymbols(symbols: string): string {
  let remainder = 0
  for (const symbol of symbols) remainder = (remainder * 32 + crockford.indexOf(symbol)) % checkModulus
  return `${crockford[remainder >> 5]}${crockford[remainder & 31]}`
}

function checksum(text: string): string {
  let rest = crc32(text)
  let symbols = ''
  for (let count = 0; count < 6; count += 1) {
    symbols = `${base62[rest % 62]}${symbols}`
    rest = Math.floor(rest / 62)
  }
  return symbols
}

/** Bytes from a pool, because drawing 4096 at once costs hardly more than drawing 32. */
function randomByteSource(): () => number {
  const pool = new Uint8Array(4096)
  let used = pool.length
  return () => {
    if (used === pool.length) {
      randomFillSync(pool)
      used = 0
    }
    const byte = pool[used] ?? 0
    // A secret must not stay readable in the pool after it was handed out.
    pool[used] = 0
    used += 1
    return byte
  }
}
