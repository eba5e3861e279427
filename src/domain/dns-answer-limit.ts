import type { DnsAnswer } from './dns-answer.ts'
import type { DnsRecord } from './dns-record.ts'

/** The maximum number of bytes of JSON that the records of one answer may take. */
export const maxRecordsJsonBytes: number = 256 * 1024

/** With the longest names, each takes 2.6 KB of JSON. */
const fewRecords = 8

/** Tells whether measuring or rendering an answer may take long: milliseconds, where others take microseconds. */
export function isLongAnswer({
  records,
  transport,
}: Pick<DnsAnswer, 'records'> & Partial<DnsAnswer>): boolean {
  return records.length > fewRecords || (transport !== 'udp' && records.length > 0)
}

/** Returns the exact number of bytes that a record adds to a JSON array, including its comma or the closing bracket. */
export function recordJsonBytes(record: DnsRecord): number {
  let bytes = 2
  // No list of the fields is made, because a hostile answer has thousands of records.
  for (const key in record) {
    const value: unknown = record[key as keyof DnsRecord]
    // Two quotes, a colon, and a comma or the closing brace.
    if (value !== undefined) bytes += key.length + 4 + valueJsonBytes(value)
  }
  return bytes
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
  let bytes = values.length === 0 ? 2 : 1
  for (const value of values) bytes += valueJsonBytes(value) + 1
  return bytes
}

/** What `JSON.stringify` makes of each character of ASCII, in bytes. */
const asciiJsonBytes: Uint8Array = Uint8Array.from(
  { length: 0x80 },
  (_, unit) => JSON.stringify(String.fromCharCode(unit)).length - 2,
)

/** Returns the bytes that a text takes in quotes: its UTF-8, and what `JSON.stringify` escapes. */
function textJsonBytes(text: string): number {
  let bytes = 2
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at)
    bytes += unit < 0x80 ? (asciiJsonBytes[unit] as number) : wideUnitJsonBytes(unit, text, at)
  }
  return bytes
}

function wideUnitJsonBytes(unit: number, text: string, at: number): number {
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
