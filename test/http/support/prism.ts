/** Prism, a validating proxy: it judges each request and each answer by the OpenAPI document alone. */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { UtilityApi } from 'utility-api'
import { onNode } from './hosts.ts'
import { parse, sendToPort, type TestAnswer, type TestRequest } from './send.ts'
import type { Surface } from './surfaces.ts'

interface Violation {
  readonly message: string
}
interface Violations {
  readonly input: readonly Violation[]
  readonly output: readonly Violation[]
}
interface Library {
  getHttpOperationsFromSpec(document: object): Promise<object[]>
  createInstance(
    config: object,
    components: object,
  ): {
    request(
      request: object,
      operations: readonly object[],
    ): () => Promise<{ right: { readonly validations: Violations } }>
  }
}

const peers = new URL('../../peers/', import.meta.url)

/** Whether it is installed; `npm ci` in test/peers does that. */
export const hasPrism: boolean = existsSync(new URL('node_modules/@stoplight/prism-http', peers))

/** What it forbids although the service does it, and why: in which request, and in its words. */
const onlyForbidden: readonly RegExp[] = [
  // HTTP has these for every path; the document does not name them.
  /^(HEAD|OPTIONS) .*: Selected route not found$/,
  // The name of a scheme may be written in any case, before more than one space.
  /^\w+ \S+ bearer {2}.*: Invalid security scheme used$/i,
  // A secret may have colons, and an empty header is no credential.
  /^POST \S+\/token (Basic .*)?: Invalid security scheme used$/,
  // It counts the octets of a header, which stand for up to four to a character.
  /: Request header parameter x-registered-to must NOT have more than 255 characters$/,
  // It decodes a path before it looks for an operation.
  /%64nscheck : Unable to match the returned status code/,
  // A body that no operation reads is no error.
  /^PUT .*: No supported content types, but request included a non-empty body$/,
]

/**
 * Starts it before a server. An answer that the document does not allow is an error, and so is a request that it forbids
 * and the service takes. What is sent and answered is not changed.
 */
export async function startPrism(api: UtilityApi, document: object = api.openapi()): Promise<Surface> {
  const library = createRequire(new URL('package.json', peers))('@stoplight/prism-http') as Library
  const { createInstance, getHttpOperationsFromSpec } = library
  const described = JSON.parse(JSON.stringify(document)) as { servers: [{ url: string }] }
  const base = described.servers[0].url.replace(/\/$/, '')
  const operations = await getHttpOperationsFromSpec(described)
  const { port, close } = await onNode(api)
  const silent = { child: () => silent, info() {}, warn() {} }
  const all = { checkSecurity: true, validateRequest: true, validateResponse: true, errors: false }
  const config = { ...all, isProxy: true, upstream: new URL(`http://127.0.0.1:${port}`) }

  async function send(request: TestRequest): Promise<TestAnswer> {
    const answer = await sendToPort(port, request)
    const { status: statusCode, headers, text, json = text } = answer
    const right = { statusCode, headers, body: json }
    const forward = () => () => () => Promise.resolve({ _tag: 'Right', right })
    const seen = seenOf(request, base)
    const { input, output } = await judge(createInstance(config, { logger: silent, forward }), seen)
    const name = `${request.method} ${request.path} ${seen.headers['authorization'] ?? ''}`
    const wrong = [...output, ...(statusCode < 400 ? input : [])]
      .map(({ message }) => `${name}: ${message}`)
      .filter((each) => !onlyForbidden.some((one) => one.test(each)))
    if (wrong.length > 0) throw new Error(wrong.join('\n'))
    return answer
  }

  /** What Prism cannot read, it forbids. */
  async function judge(prism: ReturnType<Library['createInstance']>, seen: object): Promise<Violations> {
    try {
      return (await prism.request(seen, operations)()).right.validations
    } catch (error) {
      return { input: [error as Error], output: [] }
    }
  }
  return { send, close }
}

/** Returns a request as its server reads it. */
function seenOf({ method, path, headers = {}, body = '' }: TestRequest, base: string) {
  const text = Buffer.from(body).toString()
  const fields: Record<string, string> = { 'content-length': String(text.length) }
  for (const [name, value] of Object.entries(headers))
    fields[name.toLowerCase()] = [value].flat().join(', ').trim()
  const [place = '', query] = path.split('?')
  const url = { path: place.replace(base, ''), query: Object.fromEntries(new URLSearchParams(query)) }
  const json = /json/i.test(fields['content-type'] ?? '') ? parse(text) : undefined
  return { method: method.toLowerCase(), url, headers: fields, body: json ?? text }
}
