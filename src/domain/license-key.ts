import { isPlainText } from './header-text.ts'

/** The symbols of license keys: Crockford's base32. */
export const crockford: string = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** How many symbols of a license key are random; two check symbols follow them. */
export const randomLength = 23

/** The longest key that a store is asked for. */
const longestKey = 128

/** The longest text that is read as a key. Normalizing 160,000 combining marks takes nine seconds. */
const longestText = 4 * longestKey

/** What knows the forms of license keys. */
interface KeyParts {
  readonly keyGenerator: { parseLicenseKey(text: string, prefix: string): string | null }
  readonly keyPrefix: string
}

/** Returns a license key that somebody typed as it is stored, or null if no such key can be. */
export function storedLicenseKey({ keyGenerator, keyPrefix }: KeyParts, text: string): string | null {
  const typed = text.trim()
  if (typed.length > longestText) return null
  const key = keyGenerator.parseLicenseKey(typed, keyPrefix)
  return key === null || key.length > longestKey || !isPlainText(key) ? null : key
}

const controlCharacter = /\p{Cc}/u
const bodyForm = /^[0-9A-TV-Z]{5}(?:-[0-9A-TV-Z]{5}){4}$/i
const symbolsOnly = /^[0-9A-TV-Z]{25}$/i
const mistakable = /[a-zILO]/
/** What phones, word processors and mail make of hyphens, and what they add: dashes, blanks, characters of no width. */
const separators = /[\t\n\r\p{Z}\p{Pd}\u00ad\u200b-\u200f\u2060\u2212\ufeff]/gu
/** The numeric value of each symbol, indexed by its character code. */
const values = new Uint8Array(128)
for (const [value, symbol] of [...crockford].entries()) values[symbol.charCodeAt(0)] = value
const hyphen = '-'.charCodeAt(0)
const checkLength = 2
// The largest prime below 32 squared: every single substitution and every swap of neighbors changes the remainder.
const checkModulus = 1021

/** Builds a license key from its random symbols: the prefix, then all symbols in groups of five. */
export function licenseKeyOf(prefix: string, random: string): string {
  return prefix + inGroups(random + checkSymbols(random))
}

function inGroups(symbols: string): string {
  return (symbols.match(/.{5}/g) ?? []).join('-')
}

/**
 * Returns the stored form of a license key that somebody typed, or null for a key that was never issued. Text in
 * another form is returned as it is, because other generators have their own forms.
 */
export function parseLicenseKey(text: string, prefix: string): string | null {
  const body = text.slice(prefix.length)
  if (!bodyForm.test(body) || !beginsWith(text, prefix)) {
    // PostgreSQL refuses a NUL in text, so the answer would be that the database failed.
    return withHyphens(text, prefix) ?? (controlCharacter.test(text) ? null : text)
  }
  const key = mistakable.test(body) ? canonical(body) : body
  return isChecked(key) ? prefix + key : null
}

/**
 * Returns the stored form of a key whose hyphens were left out or became something else, or null for any other text.
 * Without the hyphens, wrong check symbols do not show that the key was never issued, because another program's may
 * look like this.
 */
function withHyphens(text: string, prefix: string): string | null {
  if (text.length > longestText) return null
  const symbols = text.normalize('NFKC').replaceAll(separators, '')
  const start = prefix.replaceAll('-', '')
  const typed = symbols.slice(start.length)
  if (!symbolsOnly.test(typed) || !beginsWith(symbols, start)) return null
  const key = canonical(typed)
  return isChecked(key) ? prefix + inGroups(key) : null
}

function isChecked(key: string): boolean {
  return checkSymbols(key.slice(0, -checkLength)) === key.slice(-checkLength)
}

function beginsWith(text: string, prefix: string): boolean {
  return text.startsWith(prefix) || text.slice(0, prefix.length).toLowerCase() === prefix.toLowerCase()
}

function canonical(body: string): string {
  return body.toUpperCase().replaceAll('O', '0').replaceAll(/[IL]/g, '1')
}

/** Computes the check symbols of other symbols. Hyphens between those do not count. */
function checkSymbols(symbols: string): string {
  let remainder = 0
  for (let index = 0; index < symbols.length; index += 1) {
    const code = symbols.charCodeAt(index)
    if (code !== hyphen) remainder = (remainder * 32 + (values[code] ?? 0)) % checkModulus
  }
  return `${crockford[remainder >> 5]}${crockford[remainder & 31]}`
}
