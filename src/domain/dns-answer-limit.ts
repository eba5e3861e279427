import type { DnsAnswer, DnsRecord } from './dns-answer.ts'

/** The maximum number of bytes of JSON that the records of one answer may take. */
export const maxRecordsJsonBytes: number = 256 * 1024

/** Returns the exact number of bytes that a record adds to a JSON array, including its comma or the closing bracket. */
export function recordJsonBytes(record: DnsRecord): number {
  const fields: readonly [string, unknown][] = Object.entries(record)
  return fields.reduce(
    // Two quotes, a colon, and a comma or the closing brace.
    (sum, [key, value]) => (value === undefined ? sum : sum + key.length + 4 + valueJsonBytes(value)),
    2,
  )
}

/** Tells whether the records take at most {@link maxRecordsJsonBytes}. Stops at the first one beyond the limit. */
export function withinAnswerLimit(records: readonly DnsRecord[]): boolean {
  let bytes = 1
  return records.every((record) => (bytes += recordJsonBytes(record)) <= maxRecordsJsonBytes)
}

/** Returns the answer, or a `TOO_LARGE` one if its records, or the names and texts beside them, exceed the limit. */
export function limitAnswer(answer: DnsAnswer): DnsAnswer {
  const { records, cnameChain, ede = [], ...rest } = answer
  const besideRecords = valueJsonBytes(cnameChain) + valueJsonBytes(ede.map(({ text }) => text))
  if (besideRecords > maxRecordsJsonBytes)
    return { ...rest, status: 'TOO_LARGE', records: [], cnameChain: [] }
  return withinAnswerLimit(records) ? answer : { ...answer, status: 'TOO_LARGE', records: [] }
}

function valueJsonBytes(value: unknown): number {
  if (typeof value === 'string') return textJsonBytes(value)
  if (Array.isArray(value)) return arrayJsonBytes(value)
  return String(value).length
}

function arrayJsonBytes(values: readonly unknown[]): number {
  return values.length === 0 ? 2 : values.reduce<number>((sum, each) => sum + valueJsonBytes(each) + 1, 1)
}

const quoteOrBackslash = /["\\]/
const plainAscii = /^[ -~]*$/

/** Returns the bytes that a text takes in quotes: its UTF-8, and what `JSON.stringify` escapes. */
function textJsonBytes(text: string): number {
  if (plainAscii.test(text) && !quoteOrBackslash.test(text)) return text.length + 2
  let bytes = 2
  for (let at = 0; at < text.length; at += 1) bytes += codeUnitJsonBytes(text, at)
  return bytes
}

/** Characters with an escape of two octets. */
const shortEscapes = '"\\\b\f\n\r\t'

function codeUnitJsonBytes(text: string, at: number): number {
  const unit = text.charCodeAt(at)
  if (unit < 0x80) {
    if (shortEscapes.includes(text.charAt(at))) return 2
    return unit < 0x20 ? 6 : 1
  }
  if (unit < 0x800) return 2
  if (unit < 0xd800 || unit > 0xdfff) return 3
  // Half of a surrogate pair takes half of four octets; a lone half is escaped.
  return isPaired(text, at) ? 2 : 6
}

function isPaired(text: string, at: number): boolean {
  const isHigh = text.charCodeAt(at) < 0xdc00
  const other = text.charCodeAt(isHigh ? at + 1 : at - 1)
  return isHigh ? other >= 0xdc00 && other <= 0xdfff : other >= 0xd800 && other < 0xdc00
}
