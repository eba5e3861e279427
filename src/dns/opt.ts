import type { ExtendedDnsError } from '../domain/dns-check.ts'
import { malformed } from './names.ts'

/** What EDNS adds to a reply. */
export interface Opt {
  /** The upper 8 bits of the response code. */
  readonly extendedRcode: number
  readonly ede: readonly ExtendedDnsError[]
  /** SCOPE PREFIX-LENGTH of a client subnet option, where there is one. */
  readonly clientSubnetScope: number | undefined
}

export const withoutOpt: Opt = { extendedRcode: 0, ede: [], clientSubnetScope: undefined }

const edeOption = 15
const clientSubnetOption = 8
/** From the data of an OPT record back to its upper response code: its length and the rest of its TTL lie between. */
const toExtendedRcode = -6

/**
 * Reads an OPT record whose data lies from `start` to `end`. Throws {@link malformed}.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc6891#section-6.1 | RFC 6891 section 6.1}
 */
export function readOpt(message: Buffer, start: number, end: number): Opt {
  const ede: ExtendedDnsError[] = []
  let clientSubnetScope: number | undefined
  for (let at = start; at < end;) {
    if (at + 4 > end) throw malformed
    const code = message.readUInt16BE(at)
    const dataStart = at + 4
    at = dataStart + message.readUInt16BE(at + 2)
    if (at > end) throw malformed
    const data = message.subarray(dataStart, at)
    if (code === edeOption && data.length >= 2)
      ede.push({ code: data.readUInt16BE(0), text: data.toString('utf8', 2) })
    if (code === clientSubnetOption && data.length >= 4) clientSubnetScope = data[3]
  }
  return { extendedRcode: message.readUInt8(start + toExtendedRcode), ede, clientSubnetScope }
}
