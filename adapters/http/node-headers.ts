import type { IncomingMessage } from 'node:http'

/** Returns the value of a header, all of them joined if it was sent more than once, or null. */
export function headerOf({ rawHeaders, headers }: IncomingMessage, name: string): string | null {
  // `headers` keeps only the first of two Authorization headers; the raw list keeps both. Adapters for functions in a
  // cloud make requests that have no raw list.
  if (rawHeaders.length === 0) return joined(headers[name.toLowerCase()])
  let value: string | null = null
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (!isSameName(rawHeaders[index] ?? '', name)) continue
    const part = rawHeaders[index + 1] ?? ''
    value = value === null ? part : `${value}, ${part}`
  }
  return value
}

/** Tells whether a header was sent more than once. */
export function isRepeated({ rawHeaders, headers }: IncomingMessage, name: string): boolean {
  // A list, if a cloud's adapter has put one there.
  if (rawHeaders.length === 0) return Array.isArray(headers[name.toLowerCase()])
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (isSameName(rawHeaders[index] ?? '', name)) count += 1
  }
  return count > 1
}

/** Tells whether a body may follow the headers. */
export function announcesBody(request: IncomingMessage): boolean {
  return (
    request.httpVersionMajor > 1 ||
    headerOf(request, 'Transfer-Encoding') !== null ||
    Number(headerOf(request, 'Content-Length')) > 0
  )
}

function joined(value: string | readonly string[] | undefined): string | null {
  if (value === undefined) return null
  return typeof value === 'string' ? value : value.join(', ')
}

function isSameName(one: string, other: string): boolean {
  return one.length === other.length && (one === other || one.toLowerCase() === other.toLowerCase())
}
