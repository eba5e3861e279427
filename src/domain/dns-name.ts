import { domainToASCII } from 'node:url'

/** Octets of the longest name, with the length of each label and the final zero (RFC 1035 section 2.3.4). */
export const maxNameLength = 255
/** An octet with a higher bit set does not begin a label. */
export const maxLabelLength = 63
/** Every octet as `\DDD`, and a final dot. */
export const longestNameText: number = 4 * maxNameLength + 1

/** Visible ASCII but dots and backslashes; `\DDD` for any octet; a backslash before anything else but a digit. */
const asciiLabel = /^(?:[!-\-/-[\]-~]|\\(?:[01]\d\d|2[0-4]\d|25[0-5]|[ -/:-~]))+$/
/** What IDNA keeps or maps. It silently drops or rewrites much of the rest, such as a slash and all that follows. */
const internationalLabel = /^(?:[\p{L}\p{M}\p{N}\p{S}_-]|\u200c|\u200d)+$/u
const asciiOnly = /^[ -~]*$/
/** The other dots of IDNA. */
const wideDots = /[\u3002\uff0e\uff61]/g
const escapes = /\\(?:(\d{3})|(.))/g
const capitals = /[A-Z]+/g
const special = /[^!-~]|[.\\@]/g

/**
 * Returns a name in the one spelling in which it is shown: lower case, no final dot, `.` for the root, and in its labels
 * `\.`, `\\`, `\@` and `\DDD` for octets that are not visible ASCII. Returns null for what is no name.
 *
 * A label may hold any octets: `*`, a slash, a hyphen at either end. An international label turns into its ASCII form.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc2181#section-11 | RFC 2181 section 11}
 */
export function parseDnsName(text: string): string | null {
  if (text === '.') return '.'
  if (text.length > longestNameText) return null
  const isAscii = asciiOnly.test(text)
  const labels = splitDnsName(isAscii ? text : text.replaceAll(wideDots, '.'))
  const octets = (isAscii ? labels : labels.map(toAscii)).map(octetsOfLabel)
  const areLabels = octets.every(({ length }) => length > 0 && length <= maxLabelLength)
  const nameLength = octets.reduce((sum, { length }) => sum + 1 + length, 1)
  if (!areLabels || octets.length === 0 || nameLength > maxNameLength) return null
  return octets.map(canonicalLabel).join('.')
}

/** Returns the labels of a name as they are written. A final dot ends the last one. */
export function splitDnsName(name: string): string[] {
  const labels: string[] = []
  let label = ''
  for (let at = 0; at < name.length; at += 1) {
    // A dot behind a backslash belongs to its label.
    const length = name[at] === '\\' ? 2 : 1
    const character = name.slice(at, at + length)
    at += length - 1
    if (character !== '.') label += character
    else {
      labels.push(label)
      label = ''
    }
  }
  return label === '' ? labels : [...labels, label]
}

/** Returns the octets of a label, one character each; none if it is no label. */
export function octetsOfLabel(label: string): string {
  if (!asciiLabel.test(label)) return ''
  return label.replace(escapes, (_, decimal: string | undefined, character: string) =>
    decimal === undefined ? character : String.fromCharCode(Number(decimal)),
  )
}

function canonicalLabel(octets: string): string {
  // Only ASCII: the octet that is À in Latin-1 has no lower case.
  const lower = octets.replace(capitals, (letters) => letters.toLowerCase())
  return lower.replace(special, (octet) =>
    /[!-~]/.test(octet) ? `\\${octet}` : `\\${String(octet.charCodeAt(0)).padStart(3, '0')}`,
  )
}

/** Returns the ASCII form of a label; nothing if there is none. */
function toAscii(label: string): string {
  if (asciiOnly.test(label)) return label
  // With a label behind it, digits of other scripts are not taken for an address.
  const ascii = internationalLabel.test(label) ? domainToASCII(`${label}.x`) : ''
  const [first = '', second, ...rest] = ascii.split('.')
  return second === 'x' && rest.length === 0 ? first : ''
}
