/** Longer JSON is kept as octets, outside V8's heap, and not copied for each connection that it is written to. */
const maxTextLength = 16 * 1024

/** JSON in the form in which it is kept and sent. */
export type JsonBody = string | Uint8Array

/** Returns JSON in the form in which it is kept and sent. */
export function jsonBody(text: string): JsonBody {
  return text.length <= maxTextLength ? text : Buffer.from(text)
}

/** Returns the JSON of an array, from the JSON of its elements. */
export function jsonArray(elements: readonly JsonBody[]): JsonBody {
  if (elements.every((element) => typeof element === 'string')) return jsonBody(`[${elements.join(',')}]`)
  const parts = elements.flatMap((element, index) => [
    Buffer.from(index === 0 ? '[' : ','),
    typeof element === 'string' ? Buffer.from(element) : element,
  ])
  return Buffer.concat([...parts, Buffer.from(']')])
}

const utf8 = new TextDecoder()

/** Returns what a body says. */
export function parsedBody<Value>(body: JsonBody): Value {
  return JSON.parse(typeof body === 'string' ? body : utf8.decode(body)) as Value
}

/** Returns how many octets a body takes. */
export function octetsOf(body: JsonBody): number {
  return typeof body === 'string' ? Buffer.byteLength(body) : body.length
}

/**
 * A result as JSON, made once for all requests that share it. If each made its own, a few hundred equal requests for a
 * large answer would exhaust the memory.
 */
export class SharedAnswer<Value> {
  readonly body: JsonBody
  readonly octets: number

  constructor(body: JsonBody) {
    this.body = body
    this.octets = octetsOf(body)
  }

  /** Returns the result, a copy for each call. */
  value(): Value {
    return parsedBody(this.body)
  }
}
