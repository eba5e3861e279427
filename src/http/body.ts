import { UtilityApiError } from '../domain/errors.ts'
import type { RequestLike } from './messages.ts'

/** The fields of a body by name; only what the client itself sent, so that `constructor` is not found. */
export type BodyFields = ReadonlyMap<string, unknown>

const maxBodyBytes = 64 * 1024
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Reads a JSON or form body.
 *
 * @param known - The names that count. Repeating one is refused (RFC 6749 section 3.2); others are ignored.
 * @throws `unsupported_media_type`, `payload_too_large`, `invalid_request`
 */
export async function readBody(request: RequestLike, known: readonly string[]): Promise<BodyFields> {
  const parse = parserOf(request)
  return parse(decode(await readBytes(request)), known)
}

async function readBytes(request: RequestLike): Promise<Uint8Array> {
  const bytes = await request.body(maxBodyBytes).catch((cause: unknown) => {
    throw new UtilityApiError('invalid_request', 'The body did not arrive whole.', { cause })
  })
  if (bytes.length <= maxBodyBytes) return bytes
  throw new UtilityApiError('payload_too_large', `The body is larger than ${maxBodyBytes} bytes.`)
}

type BodyParser = (text: string, known: readonly string[]) => BodyFields

function parserOf(request: RequestLike): BodyParser {
  const encoding = request.header('Content-Encoding')
  if (encoding !== null && encoding.toLowerCase() !== 'identity') {
    throw new UtilityApiError('unsupported_media_type', 'The body must not be encoded (Content-Encoding).')
  }
  const [type = '', ...parameters] = (request.header('Content-Type') ?? '').split(';')
  const parser = parsers.get(type.trim().toLowerCase())
  if (parser === undefined) {
    throw new UtilityApiError(
      'unsupported_media_type',
      'Content-Type must be application/json or application/x-www-form-urlencoded.',
    )
  }
  if (!parameters.every(isHarmlessParameter)) {
    throw new UtilityApiError('invalid_request', 'The charset of Content-Type must be utf-8.')
  }
  return parser
}

function isHarmlessParameter(parameter: string): boolean {
  const [name = '', value = ''] = parameter.split('=')
  if (name.trim().toLowerCase() !== 'charset') return true
  return /^"?utf-?8"?$/i.test(value.trim())
}

const parsers: ReadonlyMap<string, BodyParser> = new Map([
  ['application/json', parseJson],
  ['application/x-www-form-urlencoded', parseForm],
])

function decode(bytes: Uint8Array): string {
  try {
    return strictUtf8.decode(bytes)
  } catch {
    throw new UtilityApiError('invalid_request', 'The body is not valid UTF-8.')
  }
}

function parseJson(text: string, known: readonly string[]): BodyFields {
  const value = parseJsonText(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new UtilityApiError('invalid_request', 'The body must be a JSON object.')
  }
  const names = memberNames(text)
  refuseRepeated(known, (name) => names.filter((each) => each === name).length)
  return new Map(Object.entries(value))
}

function parseJsonText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The parser's own message quotes the body, and with it secrets.
    throw new UtilityApiError('invalid_request', 'The body is not valid JSON.')
  }
}

const jsonToken = /"(?:[^"\\]|\\.)*"|[{}[\]:]/g

/** The member names of the outermost object, repeated ones included: `JSON.parse` keeps the last in silence. */
function memberNames(validJson: string): string[] {
  const names: string[] = []
  let depth = 0
  let lastString = ''
  for (const [token] of validJson.matchAll(jsonToken)) {
    if (token === '{' || token === '[') depth += 1
    else if (token === '}' || token === ']') depth -= 1
    else if (token !== ':') lastString = token
    else if (depth === 1) names.push(JSON.parse(lastString) as string)
  }
  return names
}

function parseForm(text: string, known: readonly string[]): BodyFields {
  // URLSearchParams would keep a broken escape as it stands.
  if (/%(?![0-9a-f]{2})/i.test(text)) {
    throw new UtilityApiError('invalid_request', 'The body is not valid form data.')
  }
  const fields = new URLSearchParams(text)
  refuseRepeated(known, (name) => fields.getAll(name).length)
  return new Map(fields)
}

function refuseRepeated(known: readonly string[], count: (name: string) => number): void {
  const repeated = known.find((name) => count(name) > 1)
  if (repeated !== undefined) throw new UtilityApiError('invalid_request', `${repeated} must be sent once.`)
}
