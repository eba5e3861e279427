import type { ExtendedDnsError } from '../../domain/dns-answer.ts'
import { isPlainText } from '../../domain/header-text.ts'
import { formatError } from './budget.ts'
import { optionCodes } from './constants.ts'
import { sentSubnet, type EncodedQuery } from './encoded-query.ts'
import type { RawRecord } from './record-data.ts'

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
 * Reads an OPT record. Throws {@link formatError}.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc6891#section-6.1 | RFC 6891 section 6.1}
 */
export function readOpt({ message, start, end, budget }: RawRecord, query: EncodedQuery): Opt {
  const ede: ExtendedDnsError[] = []
  let clientSubnetScope: number | undefined
  for (let at = start; at < end;) {
    budget.spendSteps(1)
    if (at + 4 > end) throw formatError
    const code = message.readUInt16BE(at)
    const dataStart = at + 4
    at = dataStart + message.readUInt16BE(at + 2)
    if (at > end) throw formatError
    if (code === optionCodes.extendedError && at - dataStart >= 2 && ede.length < maxExtendedErrors)
      ede.push({
        code: message.readUInt16BE(dataStart),
        text: readExtraText(message.subarray(dataStart + 2, at)),
      })
    if (code === optionCodes.clientSubnet) clientSubnetScope = scopeOf(message.subarray(dataStart, at), query)
  }
  return { extendedRcode: message.readUInt8(start + toExtendedRcode), ede, clientSubnetScope }
}

/** The bits of an address, by FAMILY. */
const addressBits: Readonly<Record<number, number>> = { 1: 32, 2: 128 }

/**
 * Returns the scope of a client subnet, or undefined if none was sent. Throws {@link formatError} if it is not the one
 * that was sent, because the reply is then made for somebody else, or by somebody else.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc7871#section-7.3 | RFC 7871 section 7.3}
 */
function scopeOf(data: Buffer, query: EncodedQuery): number | undefined {
  const sent = sentSubnet(query)
  if (sent.length === 0) return undefined
  // FAMILY and SOURCE PREFIX-LENGTH, then the scope, then the address.
  const isTheSame =
    data.length === sent.length &&
    data.subarray(0, 3).equals(sent.subarray(0, 3)) &&
    data.subarray(4).equals(sent.subarray(4))
  const [, family = 0, , scope = 0] = data
  if (!isTheSame || scope > (addressBits[family] ?? 0)) throw formatError
  return scope
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
