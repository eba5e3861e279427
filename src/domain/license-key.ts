/** The symbols of license keys: Crockford's base32. */
export const crockford: string = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** How many symbols of a license key are random; two check symbols follow them. */
export const randomLength = 23

const controlCharacter = /\p{Cc}/u
const bodyForm = /^[0-9A-TV-Z]{5}(?:-[0-9A-TV-Z]{5}){4}$/i
// The largest prime below 32 squared: every single substitution and every swap of neighbors changes the remainder.
const checkModulus = 1021

/** A license key of its random symbols: the prefix, and all symbols in groups of five. */
export function licenseKeyOf(prefix: string, random: string): string {
  const symbols = random + checkSymbols(random)
  return `${prefix}${(symbols.match(/.{5}/g) ?? []).join('-')}`
}

/**
 * A license key as it is stored, of one that somebody typed; null for one that was never issued. Text of another form is
 * left as it is: other generators have forms of their own.
 */
export function parseLicenseKey(text: string, prefix: string): string | null {
  // PostgreSQL refuses a NUL in a text: the answer would be that the database failed.
  if (controlCharacter.test(text)) return null
  const body = text.slice(prefix.length)
  const hasPrefix = text.slice(0, prefix.length).toLowerCase() === prefix.toLowerCase()
  if (!hasPrefix || !bodyForm.test(body)) return text
  const canonical = body.toUpperCase().replaceAll('O', '0').replaceAll(/[IL]/g, '1')
  const symbols = canonical.replaceAll('-', '')
  return checkSymbols(symbols.slice(0, randomLength)) === symbols.slice(randomLength)
    ? prefix + canonical
    : null
}

function checkSymbols(symbols: string): string {
  let remainder = 0
  for (const symbol of symbols) remainder = (remainder * 32 + crockford.indexOf(symbol)) % checkModulus
  return `${crockford[remainder >> 5]}${crockford[remainder & 31]}`
}
