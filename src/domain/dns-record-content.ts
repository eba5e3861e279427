import { demand, isOptions } from './arguments.ts'
import type { DnsRecord, RecordOf, RecordType } from './dns-record.ts'
import { parseDnsName } from './dns-name.ts'
import { canonicalIpAddress } from './ip-address.ts'

/**
 * The content of a record, apart from its owner and its TTL, as a text that is equal for equal content: names in one
 * spelling, texts as octets.
 */
type Content = string

/** Returns the content of a record. */
export function contentOfRecord(record: DnsRecord): Content {
  switch (record.type) {
    case 'A':
    case 'AAAA':
      return canonicalIpAddress(record.ip) ?? record.ip
    case 'TXT':
      // How strings are split does not matter, because programs read them as one text.
      return Buffer.concat(stringsOf(record)).toString('latin1')
    case 'CAA':
      return caaContent(
        record.flags,
        latin1(record.tag),
        octetsOf(record.value, record.base64).toString('latin1'),
      )
    case 'DS':
      return fieldsOf(record, canonicalName).toUpperCase()
    default:
      return fieldsOf(record, canonicalName)
  }
}

/** Returns the fields of a record that has neither addresses nor texts, with its names as `nameOf` writes them. */
function fieldsOf(
  record: Exclude<DnsRecord, RecordOf<'A' | 'AAAA' | 'TXT' | 'CAA'>>,
  nameOf: (name: string) => string,
): string {
  switch (record.type) {
    case 'NS':
    case 'PTR':
    case 'CNAME':
      return nameOf(record.target)
    case 'MX':
      return `${record.pri} ${nameOf(record.target)}`
    case 'SRV':
      return `${record.pri} ${record.weight} ${record.port} ${nameOf(record.target)}`
    case 'SOA': {
      const { mname, rname, serial, refresh, retry, expire, 'minimum-ttl': minimum } = record
      return `${nameOf(mname)} ${nameOf(rname)} ${serial} ${refresh} ${retry} ${expire} ${minimum}`
    }
    case 'DS':
      return `${record.key_tag} ${record.algorithm} ${record.digest_type} ${record.digest}`
    default:
      return `${record.flags} ${record.protocol} ${record.algorithm} ${record.public_key}`
  }
}

/** A tag may have spaces in it, so its length says where the value begins. */
function caaContent(flags: number, tag: string, value: string): Content {
  return `${flags} ${tag.length} ${tag} ${value}`
}

/** A tag that people mistyped may hold anything; its octets are compared, as those of a value are. */
function latin1(text: string): string {
  return Buffer.from(text).toString('latin1')
}

function canonicalName(name: string): string {
  return parseDnsName(name) ?? name.toLowerCase()
}

function stringsOf({ entries, base64 }: RecordOf<'TXT'>): Buffer[] {
  return base64?.map((string) => Buffer.from(string, 'base64')) ?? entries.map((entry) => Buffer.from(entry))
}

function octetsOf(text: string, base64: string | undefined): Buffer {
  return base64 === undefined ? Buffer.from(text) : Buffer.from(base64, 'base64')
}

/**
 * Writes a record in presentation form, as zone files have it, without its owner, TTL, class and type: what
 * `summarizeDnsCheck` takes as `expected`, and what a person reads.
 *
 * Names are as they were sent, without a final dot. The strings of a TXT record are in quotes. Of a text, the octets that are
 * not UTF-8 are written `\DDD`, and so are characters that nobody sees or that would control a terminal.
 *
 * @example
 * ```ts
 * import { recordText } from 'utility-api'
 *
 * recordText({ type: 'MX', host: 'example.com', ttl: 300, pri: 10, target: 'mail.example.com' }) // '10 mail.example.com'
 * ```
 *
 * @throws `UtilityApiError` `invalid_argument` for what is no record
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc1035#section-5.1 | RFC 1035 section 5.1}
 *
 * @group DNS
 */
export function recordText(record: DnsRecord): string {
  const isRecord = isOptions(record) && Object.hasOwn(presentationExamples, record.type)
  demand(isRecord, 'record must be a record of an answer: one element of dns_results.')
  switch (record.type) {
    case 'A':
    case 'AAAA':
      return record.ip
    case 'TXT':
      return stringsOf(record)
        .map((string) => `"${escaped(string)}"`)
        .join(' ')
    case 'CAA': {
      // It stands without quotes, but for one that is empty.
      const tag = escaped(Buffer.from(record.tag)).replaceAll(/\s/g, (space) => decimals(space))
      return `${record.flags} ${tag === '' ? '""' : tag} "${escaped(octetsOf(record.value, record.base64))}"`
    }
    default:
      return fieldsOf(record, (name) => name)
  }
}

/** What nobody sees, but for the joiners and variants of what is seen, and what would control a terminal. */
const unseen = /(?!\p{Join_Control}|[\ufe00-\ufe0f])[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu

/** Writes the octets of a string as they stand between quotes. */
function escaped(octets: Buffer): string {
  const utf8 = octets.toString()
  const [text, encoding, special] = Buffer.from(utf8).equals(octets)
    ? ([utf8, 'utf8', unseen] as const)
    : ([octets.toString('latin1'), 'latin1', /[^ -~]/g] as const)
  return text
    .replaceAll(/["\\]/g, String.raw`\$&`)
    .replaceAll(special, (each) => decimals(Buffer.from(each, encoding)))
}

function decimals(octets: string | Buffer): string {
  return [...Buffer.from(octets)].map((octet) => `\\${String(octet).padStart(3, '0')}`).join('')
}

/** A record of each type in presentation form. */
export const presentationExamples: Readonly<Record<RecordType, string>> = {
  A: '192.0.2.1',
  AAAA: '2001:db8::1',
  MX: '10 mail.example.com',
  NS: 'ns1.example.com',
  PTR: 'host.example.com',
  CNAME: 'www.example.com',
  SOA: 'ns1.example.com hostmaster.example.com 1 7200 3600 1209600 300',
  TXT: '"v=spf1 -all"',
  SRV: '10 5 5060 sip.example.com',
  CAA: '0 issue "ca.example.com"',
  DS: '60485 13 2 D4B7D520E7BB5F0F67674A0CCEB1E3E0614B93C4F9E99B8383F6A1E4469DA50A',
  DNSKEY: '257 3 13 mdsswUyr3DPW132mOi8V9xESWE8jTo0d',
}

/**
 * Returns the content of a record in presentation form, without its owner, TTL, class and type, or null for anything else.
 *
 * Names may have a final dot. A text may stand without quotes; with them, it may be several strings, with `\"`, `\\` and
 * `\DDD`.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc1035#section-5.1 | RFC 1035 section 5.1}
 */
export function contentOfPresentation(type: RecordType, text: string): Content | null {
  const trimmed = text.trim()
  const words = trimmed.split(/\s+/)
  switch (type) {
    case 'A':
    case 'AAAA':
      return trimmed.includes(':') === (type === 'AAAA') ? canonicalIpAddress(trimmed) : null
    case 'TXT':
      return trimmed.startsWith('"') ? quotedStrings(trimmed) : Buffer.from(text).toString('latin1')
    case 'CAA':
      return contentOfCaa(trimmed)
    case 'DS':
      return fields([...numbers(words.slice(0, 3), [16, 8, 8]), hexadecimal(words.slice(3).join(''))])
    case 'DNSKEY':
      return fields([...numbers(words.slice(0, 3), [16, 8, 8]), canonicalBase64(words.slice(3).join(''))])
    case 'SOA':
      return fields([
        ...words.slice(0, 2).map(parseDnsName),
        ...numbers(words.slice(2), [32, 32, 32, 32, 32]),
      ])
    default:
      return fields([
        ...numbers(words.slice(0, -1), numbersBeforeName[type]),
        parseDnsName(words.at(-1) ?? ''),
      ])
  }
}

/** How many bits each of the numbers before a name has. */
const numbersBeforeName: Readonly<Record<'MX' | 'NS' | 'PTR' | 'CNAME' | 'SRV', readonly number[]>> = {
  MX: [16],
  SRV: [16, 16, 16],
  NS: [],
  PTR: [],
  CNAME: [],
}

/** Joins fields, unless one of them is none. */
function fields(parts: readonly (string | number | null)[]): Content | null {
  return parts.includes(null) ? null : parts.join(' ')
}

/** Reads as many numbers as there are widths; null among them for what is none, or for words too few or too many. */
function numbers(words: readonly string[], bits: readonly number[]): readonly (number | null)[] {
  return words.length === bits.length ? bits.map((width, at) => numberOf(words[at] ?? '', width)) : [null]
}

function hexadecimal(text: string): string | null {
  return /^(?:[\dA-F]{2})+$/i.test(text) ? text.toUpperCase() : null
}

function numberOf(word: string, bits: number): number | null {
  const number = /^\d{1,10}$/.test(word) ? Number(word) : Number.NaN
  return number < 2 ** bits ? number : null
}

function canonicalBase64(text: string): string | null {
  const canonical = Buffer.from(text, 'base64').toString('base64')
  return canonical !== '' && canonical.replaceAll('=', '') === text.replaceAll('=', '') ? canonical : null
}

function contentOfCaa(text: string): Content | null {
  const [, flags = '', tag = '', value = ''] = /^(\d+)\s+(\S+)\s+(.*)$/s.exec(text) ?? []
  const number = numberOf(flags, 8)
  const octets = value.startsWith('"') ? quotedStrings(value) : Buffer.from(value).toString('latin1')
  if (number === null || octets === null) return null
  const name = /^[a-z0-9]+$/i.test(tag) ? tag.toLowerCase() : tag === '""' ? '' : unescaped(tag)
  return caaContent(number, name, octets)
}

// Sticky: what is no string ends the search, which would otherwise read the rest again from each quote in it.
const quoted = /"((?:[^"\\]|\\(?:[01]\d\d|2[0-4]\d|25[0-5]|\D))*)"\s*/gsuy

/** Returns the octets of strings in quotes, joined, one character each; null for anything else. */
function quotedStrings(text: string): string | null {
  const strings = [...text.matchAll(quoted)]
  if (strings.map(([whole]) => whole).join('') !== text) return null
  return strings.map(([, inside = '']) => unescaped(inside)).join('')
}

/** Returns the octets of what may have `\DDD` and backslashes before others, one character each. */
function unescaped(text: string): string {
  return Buffer.from(text)
    .toString('latin1')
    .replace(/\\(?:(\d{3})|(.))/gs, (_, octet: string | undefined, character: string) =>
      octet === undefined ? character : String.fromCharCode(Number(octet)),
    )
}
