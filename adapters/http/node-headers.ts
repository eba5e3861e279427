import type { IncomingMessage } from 'node:http'

/** The headers that an operation reads and of which Node.js keeps the first, the last of these over HTTP/2 alone. */
const keepsFirst = new Set(['authorization', 'content-type', 'content-encoding'])

/**
 * The few names that are asked for, as keys of `headers`, because making them for each request took longer than reading
 * it.
 */
const keys = new Map<string, string>()

/**
 * Returns the value of a header, all of them joined if it was sent more than once, or null. What a host has written to
 * `headers`, or deleted there, counts.
 */
export function headerOf({ headers, rawHeaders }: IncomingMessage, name: string): string | null {
  const key = keyOf(name)
  const value = textOf(headers[key])
  if (value === null || !keepsFirst.has(key)) return value
  // Two credentials must be refused, and only the raw list has both. If the host has written another value, that counts.
  const sent = sentValues(rawHeaders, name)
  return sent.length > 1 && sent[0] === value ? sent.join(', ') : value
}

/** Tells whether a header was sent more than once, or is a list that a host has made. */
export function isRepeated(request: IncomingMessage, name: string): boolean {
  const value: unknown = request.headers[keyOf(name)]
  if (Array.isArray(value)) return value.length > 1
  const sent = sentValues(request.rawHeaders, name)
  return sent.length > 1 && sent.join(', ') === headerOf(request, name)
}

/** Tells whether a body may follow the headers. That is as it was sent, whatever a host has written to `headers`. */
export function announcesBody(request: IncomingMessage): boolean {
  return (
    request.httpVersionMajor > 1 ||
    framingOf(request, 'Transfer-Encoding') !== null ||
    Number(framingOf(request, 'Content-Length')) > 0
  )
}

function framingOf({ headers, rawHeaders }: IncomingMessage, name: string): string | null {
  // Requests that no server has made may have no raw list.
  if (!(rawHeaders as string[] | undefined)?.length) return textOf(headers[keyOf(name)])
  for (let index = 0; index < rawHeaders.length; index += 2)
    if (isSameName(rawHeaders[index] ?? '', name)) return rawHeaders[index + 1] ?? null
  return null
}

/** Returns a value as text. Adapters for functions in a cloud write numbers and lists too. */
function textOf(value: unknown): string | null {
  if (typeof value === 'string') return value
  if (value === undefined || value === null) return null
  return Array.isArray(value) ? value.join(', ') : String(value)
}

function keyOf(name: string): string {
  const known = keys.get(name)
  if (known !== undefined) return known
  const key = name.toLowerCase()
  keys.set(name, key)
  return key
}

/** Returns the values of a header as they were sent. Requests that no server has made may have no raw list. */
function sentValues(rawHeaders: readonly string[] | undefined, name: string): string[] {
  const values: string[] = []
  if (rawHeaders === undefined) return values
  for (let index = 0; index < rawHeaders.length; index += 2)
    if (isSameName(rawHeaders[index] ?? '', name)) values.push(rawHeaders[index + 1] ?? '')
  return values
}

function isSameName(one: string, other: string): boolean {
  return one.length === other.length && (one === other || one.toLowerCase() === other.toLowerCase())
}
