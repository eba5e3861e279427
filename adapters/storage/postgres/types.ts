import type { PostgresTypes } from './driver.ts'

/** Parsers for the types of our columns, by their object identifiers. All others stay text, integers of 64 bits too. */
const parsers: Readonly<Record<number, (text: string) => unknown>> = {
  16: (text) => text === 't', // boolean
  17: toOctets, // bytea
  23: Number, // integer
  701: Number, // double precision
}

/**
 * Parses the columns of our tables. The host may have other parsers for its own, with which a hash would match no
 * secret: every credential would be refused.
 */
export const postgresTypes: PostgresTypes = {
  getTypeParser: (oid) => parsers[oid] ?? ((text: string) => text),
}

/** Parses octets in hexadecimal, or in the escape format that a server can be set to. */
function toOctets(text: string): Buffer {
  if (text.startsWith('\\x')) return Buffer.from(text.slice(2), 'hex')
  const unescaped = text.replaceAll(/\\(\\|[0-3][0-7]{2})/g, (_, octet: string) =>
    octet === '\\' ? octet : String.fromCharCode(Number.parseInt(octet, 8)),
  )
  return Buffer.from(unescaped, 'latin1')
}
