import { refusal, refused, UtilityApiError, type Refusal } from '../domain/errors.ts'
import type { BodyMembers } from '../security/scheme.ts'
import type { RequestLike } from './request-like.ts'

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

const encoded = refusal('unsupported_media_type', 'The body must not be encoded (Content-Encoding).')
const otherType = refusal(
  'unsupported_media_type',
  'Content-Type must be application/json or application/x-www-form-urlencoded.',
)
const otherCharset = refusal('invalid_request', 'The charset of Content-Type must be utf-8.')
const notUtf8 = refusal('invalid_request', 'The body is not valid UTF-8.')
const notAnObject = refusal('invalid_request', 'The body must be a JSON object.')
// The parser's own message would quote the body, and secrets with it.
const notJson = refusal('invalid_request', 'The body is not valid JSON.')
const notAForm = refusal('invalid_request', 'The body is not valid form data.')
/** What `curl -d` sends without a header, which says form, and often has JSON in it. */
const jsonAsForm = refusal(
  'invalid_request',
  'The body looks like JSON: send it with Content-Type: application/json.',
)
/** Also in the form in which a host's own parser passes it on. */
const beginsLikeJson = /^(?:\s|\+|%20|%0[9AD])*(?:\{|%7B)/i
const maxMembers = 1000
const maxDepth = 32
const tooDeep = refusal('invalid_request', `The body is nested more than ${maxDepth} levels deep.`)
const tooManyMembers = refusal('invalid_request', `The body has more than ${maxMembers} members.`)

/** The refusals that apply to every body. */
export const bodyRefusals: readonly Refusal[] = [
  notJson,
  notAnObject,
  notAForm,
  jsonAsForm,
  tooManyMembers,
  tooDeep,
  notUtf8,
  otherCharset,
  otherType,
  encoded,
]

/** Extracts the members from a body's bytes. A repeated known member is refused (RFC 6749 section 3.2). */
export type BodyParser = (bytes: Uint8Array, known: readonly string[]) => BodyMembers

/** Returns the parser that a request's headers call for. Throws `unsupported_media_type` or `invalid_request`. */
export function bodyParserFor(request: RequestLike): BodyParser {
  const encoding = request.header('Content-Encoding') ?? ''
  if (encoding !== '' && encoding.toLowerCase() !== 'identity') throw refused(encoded)
  const [type = '', ...parameters] = (request.header('Content-Type') ?? '').split(';')
  const parse = parsers.get(type.trim().toLowerCase())
  if (parse === undefined) throw refused(otherType)
  const charsets = parameters.flatMap(charsetOf).filter((charset) => !isUtf8(charset))
  if (!charsets.every(extendsAscii)) throw refused(otherCharset)
  return (bytes, known) => {
    const text = decode(bytes)
    if (charsets.length > 0 && !isAscii(text)) throw refused(otherCharset)
    return parse(text, known)
  }
}

/** Returns the value of a parameter that is a charset. Others are ignored. */
function charsetOf(parameter: string): string[] {
  const [name = '', ...rest] = parameter.split('=')
  const value = rest.join('=').trim()
  return name.trim().toLowerCase() === 'charset' ? [value.replace(/^"(.*)"$/, '$1')] : []
}

function isUtf8(charset: string): boolean {
  return /^utf-?8$/i.test(charset)
}

/** Tells whether a charset has the octets of ASCII for its characters. Some libraries name one whatever they send. */
function extendsAscii(charset: string): boolean {
  return /^(?:us-ascii|iso-8859-\d{1,2}|windows-125\d)$/i.test(charset)
}

/** Tells whether a body means the same in all of these charsets, in the octets that a form has escaped too. */
function isAscii(text: string): boolean {
  return !/\P{ASCII}|%[89A-Fa-f][\dA-Fa-f]/u.test(text)
}

const parsers: ReadonlyMap<string, (text: string, known: readonly string[]) => BodyMembers> = new Map([
  ['application/json', parseJson],
  ['application/x-www-form-urlencoded', parseForm],
])

function decode(bytes: Uint8Array): string {
  try {
    return strictUtf8.decode(bytes)
  } catch {
    throw refused(notUtf8)
  }
}

function parseJson(text: string, known: readonly string[]): BodyMembers {
  // Before it is parsed, because many short members, and deep nesting, cost ten times as much as a long text.
  const { all, outermost, deepest, escapedNames } = countMembers(text)
  if (all > maxMembers) throw refused(tooManyMembers)
  if (deepest > maxDepth) throw refused(tooDeep)
  const value = parseJsonText(text, escapedNames)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw refused(notAnObject)
  const members = value as Readonly<Record<string, unknown>>
  // If as many were kept as were written, none is repeated. The names are read only if one is.
  if (outermost.length > Object.keys(members).length) {
    const names = outermost.map(([start, end]) => JSON.parse(text.slice(start, end)) as string)
    refuseRepeated(known, (name) => names.filter((each) => each === name).length)
  }
  return { get: (name) => (Object.hasOwn(members, name) ? members[name] : undefined) }
}

function parseJsonText(text: string, escapedNames: readonly Token[]): unknown {
  try {
    return JSON.parse(withPlainNames(text, escapedNames))
  } catch {
    throw refused(notJson)
  }
}

/** Where a token begins and ends in a text. */
type Token = readonly [start: number, end: number]

/**
 * Writes member names without needless escapes. V8 takes an escaped name for one in an earlier text, from anybody, that
 * begins like it. After `{"c\\u0":1}`, it reads `{"c\u006fde":1}` as if it were the same (nodejs/node#63785).
 */
function withPlainNames(json: string, escapedNames: readonly Token[]): string {
  let plain = ''
  let at = 0
  for (const [start, end] of escapedNames) {
    plain += json.slice(at, start) + JSON.stringify(JSON.parse(json.slice(start, end)))
    at = end
  }
  return plain + json.slice(at)
}

const quote = 0x22
const backslash = 0x5c
const colon = 0x3a
const openings: ReadonlySet<number> = new Set([0x7b, 0x5b])
const closings: ReadonlySet<number> = new Set([0x7d, 0x5d])

/**
 * Counts the members that JSON writes, including repeated ones, and tells where the names of the outermost object are, how
 * deep it is nested, and which names have escapes.
 */
function countMembers(json: string) {
  let all = 0
  const outermost: Token[] = []
  let deepest = 0
  let depth = 0
  let inString = false
  let start = 0
  let end = 0
  let isEscaped = false
  const escapedNames: Token[] = []
  for (let at = 0; at < json.length; at += 1) {
    const character = json.charCodeAt(at)
    if (character === quote) {
      inString = !inString
      if (inString) {
        start = at
        isEscaped = false
      } else end = at + 1
    } else if (character === backslash) {
      isEscaped = true
      // An escaped quote does not end a string.
      at += 1
    } else if (inString) continue
    else if (character === colon) {
      all += 1
      if (depth === 1) outermost.push([start, end])
      if (isEscaped) escapedNames.push([start, end])
    } else if (openings.has(character)) {
      depth += 1
      if (depth > deepest) deepest = depth
    } else if (closings.has(character)) depth -= 1
  }
  return { all, outermost, deepest, escapedNames }
}

function parseForm(text: string, known: readonly string[]): BodyMembers {
  // A body of nothing but short names would take a hundred times as long as others of its size.
  if (text.split('&', maxMembers + 1).length > maxMembers) throw refused(tooManyMembers)
  const mistake = beginsLikeJson.test(text) ? jsonAsForm : undefined
  // URLSearchParams would keep a broken escape unchanged.
  if (/%(?![0-9a-f]{2})/i.test(text)) throw refused(mistake ?? notAForm)
  // URLSearchParams drops a leading question mark, which it takes for part of a URL.
  const members = new URLSearchParams(text.startsWith('?') ? `&${text}` : text)
  refuseRepeated(known, (name) => members.getAll(name).length)
  const sent = new Map(members)
  return { get: (name) => sent.get(name), mistake }
}

function refuseRepeated(known: readonly string[], count: (name: string) => number): void {
  const repeated = known.find((name) => count(name) > 1)
  if (repeated !== undefined) throw new UtilityApiError('invalid_request', `${repeated} must be sent once.`)
}
