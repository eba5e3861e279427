import { isUtf8 } from 'node:buffer'
import type { ReadingBudget } from './budget.ts'

const everyUnprintable = /[^ -~]|\\/g
const everySpecial = /[^!-~]|[.\\]/g
const special = /[^!-~]|[.\\]/

/** Returns octets as UTF-8. If they are not UTF-8, all but printable ASCII becomes `\DDD`, so that nothing is lost. */
export function readText(octets: Buffer, budget: ReadingBudget): string {
  const isText = isUtf8(octets)
  budget.spendText(isText ? octets.length : escapedLength(octets))
  return isText ? octets.toString('utf8') : octets.toString('latin1').replace(everyUnprintable, escape)
}

/** Returns a label as text. Dots and backslashes get a backslash, octets that are not visible ASCII become `\DDD`. */
export function escapeLabel(latin1: string): string {
  return special.test(latin1) ? latin1.replace(everySpecial, escape) : latin1
}

function escape(character: string): string {
  if (character === '.' || character === '\\') return `\\${character}`
  return `\\${String(character.charCodeAt(0)).padStart(3, '0')}`
}

function escapedLength(octets: Buffer): number {
  let length = octets.length
  for (const octet of octets) {
    if (octet < 0x20 || octet > 0x7e) length += 3
    else if (octet === 0x5c) length += 1
  }
  return length
}
