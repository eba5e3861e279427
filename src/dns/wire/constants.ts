import type { RecordType } from '../../domain/dns-record.ts'

/** Octets of a message before its question. */
export const headerLength = 12

/** Octets of a question after its name: type and class. */
export const questionTailLength = 4

/** Octets of a record between its owner and its data: type, class, TTL and length. */
export const recordFixedLength = 10

/** The number of each record type on the wire. */
export const typeNumbers: Readonly<Record<RecordType, number>> = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  MX: 15,
  TXT: 16,
  AAAA: 28,
  SRV: 33,
  DS: 43,
  DNSKEY: 48,
  CAA: 257,
}

/** The pseudo-record of EDNS. */
export const optType = 41

/** The class of the internet. */
export const inClass = 1

/** The second word of a header. */
export const headerFlags = {
  response: 0x8000,
  opcode: 0x7800,
  authoritative: 0x0400,
  truncated: 0x0200,
  recursionDesired: 0x0100,
  recursionAvailable: 0x0080,
  authenticData: 0x0020,
  checkingDisabled: 0x0010,
  rcode: 0x000f,
} as const

/** Response codes; those above 15 have their upper bits in the OPT record. */
export const rcodes = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
  BADVERS: 16,
} as const

/** Options of the OPT record. */
export const optionCodes = { clientSubnet: 8, extendedError: 15 } as const

/** The two top bits of an octet that begins a pointer. */
export const pointerMark = 0xc0
