import { isUtf8 } from 'node:buffer'
import type { RecordOf } from '../../domain/dns-record.ts'
import { formatError, type ReadingBudget } from './budget.ts'
import { escapedText, jsonLength } from './presentation.ts'

/** Tells whether octets are UTF-8. */
export function isText(message: Buffer, start: number, end: number): boolean {
  // One octet beyond ASCII is half a character at most, and 64 KB have room for 32,000 such strings.
  return isAscii(message, start, end) || (end - start > 1 && isUtf8(message.subarray(start, end)))
}

/** Returns octets as UTF-8. If they are not UTF-8, all but printable ASCII becomes `\DDD`, so that nothing is lost. */
export function readText(message: Buffer, start: number, end: number, budget: ReadingBudget): string {
  const asText = isText(message, start, end)
  budget.spendText(jsonLength(message, start, end, asText))
  return asText ? message.toString('utf8', start, end) : escapedText(message, start, end)
}

function isAscii(message: Buffer, start: number, end: number): boolean {
  let all = 0
  for (let at = start; at < end; at += 1) all |= message[at] as number
  return all < 0x80
}

type TextFields = Pick<RecordOf<'TXT'>, 'txt' | 'entries' | 'base64'>

/**
 * Reads the strings of a TXT record: at least one, and the last must end with the data (RFC 1035 section 3.3.14).
 *
 * 64 KB have room for as many empty strings, so nothing is made for a string before it is known that all of them stay
 * within the limit of an answer.
 */
export function readStrings(message: Buffer, start: number, end: number, budget: ReadingBudget): TextFields {
  const joined = join(message, start, end)
  budget.spendSteps(joined.count)
  const { octets, isWhole, areTexts } = joined
  budget.spendText(jsonLength(octets, 0, octets.length, isWhole))
  if (!areTexts) return { txt: textOf(octets, isWhole), ...mixedEntries(message, start, end, budget) }
  budget.spendText(jsonLength(octets, 0, octets.length, true) + 3 * joined.count)
  const txt = textOf(octets, true)
  return { txt, entries: joined.count === 1 ? [txt] : slices(txt, message, start, end) }
}

function textOf(octets: Buffer, isWhole: boolean): string {
  return isWhole ? octets.toString('utf8') : escapedText(octets, 0, octets.length)
}

/** Joins the strings of a TXT record without their lengths, and tells what there is to know before any text is made. */
function join(message: Buffer, start: number, end: number) {
  const octets = Buffer.allocUnsafe(end - start)
  let [length, count, all, isSplit] = [0, 0, 0, false]
  let at = start
  do {
    const next = at + 1 + (message[at] ?? 0)
    if (next > end) throw formatError
    at += 1
    if (at < next && isContinuation(message[at] as number)) isSplit = true
    for (; at < next; at += 1) {
      const octet = message[at] as number
      all |= octet
      octets[length++] = octet
    }
    count += 1
  } while (at < end)
  const used = octets.subarray(0, length)
  // They are UTF-8 together.
  const isWhole = all < 0x80 || isUtf8(used)
  // Each string is a separate text, with no character split between two of them.
  const areTexts = isWhole && !isSplit
  return { octets: used, count, isWhole, areTexts }
}

function isContinuation(octet: number): boolean {
  return (octet & 0xc0) === 0x80
}

/** Cuts the joined text where the strings end. */
function slices(txt: string, message: Buffer, start: number, end: number): string[] {
  const entries: string[] = []
  let from = 0
  for (let at = start; at < end;) {
    const next = at + 1 + (message[at] as number)
    const begin = from
    for (at += 1; at < next; at += 1) {
      const octet = message[at] as number
      if (!isContinuation(octet)) from += octet < 0xf0 ? 1 : 2
    }
    entries.push(txt.slice(begin, from))
  }
  return entries
}

/** Reads strings of which at least one is no UTF-8, which get their octets in base64 beside them. */
function mixedEntries(message: Buffer, start: number, end: number, budget: ReadingBudget) {
  const entries: string[] = []
  const base64: string[] = []
  for (let at = start; at < end;) {
    const from = at + 1
    at = from + (message[at] as number)
    budget.spendText(6 + 4 * Math.ceil((at - from) / 3))
    entries.push(at === from ? '' : readText(message, from, at, budget))
    base64.push(at === from ? '' : message.toString('base64', from, at))
  }
  return { entries, base64 }
}
