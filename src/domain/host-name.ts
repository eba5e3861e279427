import { domainToASCII } from 'node:url'

/** What a caller of {@link parseHostName} allows beyond letters, digits and hyphens. */
export interface HostNameRules {
  /** Allow underscores, as in `_dmarc.example.com`. Default: no. */
  readonly underscores?: boolean
}

const ldhName = nameOf('(?!-)[a-z0-9-]{1,63}(?<!-)')
const underscoreName = nameOf('(?!-)[a-z0-9_-]{1,63}(?<!-)')
const numericEnd = /(?:^|\.)(?:\d+|0x[0-9a-f]*)$/
// domainToASCII silently drops or rewrites much of what is outside this set ('a.com/x' becomes 'a.com').
const internationalName = /^(?:[\p{L}\p{M}\p{N}\u3002\uff0e\uff61._-]|\u200c|\u200d)+$/u
const asciiOnly = /^[ -~]*$/
/** The longest name, in its ASCII form without a final dot. */
export const longestName = 253
// Each character of an international label takes at least one character of its ASCII form, and at most two units of a
// string.
const longestText = 2 * (longestName + 1)

/**
 * Returns a host name in its lower-case ASCII form without a final dot, or null if the name is invalid.
 *
 * International names go through IDNA (UTS 46). Names whose last label is a number are refused, because `127.1`,
 * `0x7f.1` and `2130706433` are IPv4 addresses to some programs and names to others.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc1035#section-2.3.4 | RFC 1035 section 2.3.4}
 */
export function parseHostName(text: string, rules: HostNameRules = {}): string | null {
  // The time that IDNA takes grows with the square of the length: 24 ms for 5,000 ideographs.
  if (text.length > longestText) return null
  const ascii = toAscii(text)
  const name = ascii.endsWith('.') ? ascii.slice(0, -1) : ascii
  const pattern = rules.underscores ? underscoreName : ldhName
  return name.length <= longestName && pattern.test(name) && !numericEnd.test(name) ? name : null
}

function nameOf(label: string): RegExp {
  return new RegExp(`^(?:${label}\\.)*${label}$`)
}

/** Converts a name to lower-case ASCII. JavaScript's lower case turns a final `Σ` into `ς`, which is another name. */
function toAscii(text: string): string {
  if (asciiOnly.test(text)) return text.toLowerCase()
  return internationalName.test(text) ? domainToASCII(text) : ''
}
