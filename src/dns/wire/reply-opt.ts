import type { ExtendedDnsError } from '../../domain/dns-answer.ts'
import { isPlainText } from '../../domain/header-text.ts'
import { formatError } from './budget.ts'
import { optionCodes } from './constants.ts'

/** What EDNS adds to a reply. */
export interface Opt {
  /** The upper 8 bits of the response code. */
  readonly extendedRcode: number
  readonly ede: readonly ExtendedDnsError[]
  /** SCOPE PREFIX-LENGTH of a client subnet option, if there is one. */
  readonly clientSubnetScope: number | undefined
}

export const withoutOpt: Opt = { extendedRcode: 0, ede: [], clientSubnetScope: undefined }

/** The upper response code precedes the data of an OPT record, with the rest of its TTL and its length in between. */
const toExtendedRcode = -6
/** A reply has one or two, but 64 KB has room for ten thousand. */
const maxExtendedErrors = 8
const maxExtraTextOctets = 255

/**
 * Reads an OPT record whose data lies from `start` to `end`. Throws {@link formatError}.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc6891#section-6.1 | RFC 6891 section 6.1}
 */
export function readOpt(message: Buffer, start: number, end: number): Opt {
  const ede: ExtendedDnsError[] = []
  let clientSubnetScope: number | undefined
  for (let at = start; at < end;) {
    if (at + 4 > end) throw formatError
    const code = message.readUInt16BE(at)
    const dataStart = at + 4
    at = dataStart + message.readUInt16BE(at + 2)
    if (at > end) throw formatError
    const data = message.subarray(dataStart, at)
    if (code === optionCodes.extendedError && data.length >= 2 && ede.length < maxExtendedErrors)
      ede.push({ code: data.readUInt16BE(0), text: readExtraText(data.subarray(2)) })
    if (code === optionCodes.clientSubnet && data.length >= 4) clientSubnetScope = data[3]
  }
  return { extendedRcode: message.readUInt8(start + toExtendedRcode), ede, clientSubnetScope }
}

/**
 * Returns the text of an extended error. People read it, also in terminals, so nothing in it may move the cursor or
 * reverse the line. A NUL may terminate it (RFC 8914 section 2).
 */
function readExtraText(octets: Buffer): string {
  const end = octets.at(-1) === 0 ? octets.length - 1 : octets.length
  const text = octets.toString('utf8', 0, Math.min(end, maxExtraTextOctets))
  return Array.from(text, (character) => (isPlainText(character) ? character : '\ufffd')).join('')
}
