import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { recordText, summarizeDnsCheck, type DnsCheckResult, type RecordType } from 'utility-api'
import type { DevWorld } from './dev-world.ts'
import { send, type ServiceOptions } from './http-service.ts'

/** The page at `/`, on which each operation is a form, and what it asks for besides the operations. */
export function devPages(world: DevWorld): NonNullable<ServiceOptions['pages']> {
  const page = readFileSync(new URL('dev.html', import.meta.url))
  const headers = {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Length': page.length,
    'Content-Security-Policy': policyOf(page.toString()),
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
  }
  const answers: Readonly<Record<string, Answer>> = {
    'GET /': (_, response) => response.writeHead(200, headers).end(page),
    'HEAD /': (_, response) => response.writeHead(200, headers).end(),
    // With a new code each time: the last one may be spent.
    'GET /dev/values': asJson(async () => ({
      ...world.credentials,
      code: await world.issueCode(),
      domain: world.domain,
      gameServer: world.gameServer,
      locations: world.locations.map(({ location, provider }) => ({ location, provider })),
    })),
    'GET /dev/description': asJson(() => world.describeGameServer()),
    'GET /dev/rows': (request, response) => void streamRows(world, request, response),
    'POST /dev/summary': asJson(async (request) => {
      const results = JSON.parse(await bodyOf(request)) as DnsCheckResult[]
      return { ...summarizeDnsCheck(results), texts: results.map(textsOf) }
    }),
  }
  return (request, response, path) => {
    const answer = answers[`${request.method} ${path}`]
    if (answer === undefined) return false
    if (isForThisMachine(request)) answer(request, response)
    else
      send(response, 421, JSON.stringify({ message: 'This page is served to 127.0.0.1 and localhost only.' }))
    return true
  }
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void

/**
 * Whether the browser asks for this machine by its own names. A page elsewhere whose name leads here after it was
 * loaded (DNS rebinding) could read the credentials otherwise, because to the browser, it would be of the same origin.
 */
function isForThisMachine({ headers }: IncomingMessage): boolean {
  return /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/i.test(headers.host ?? '')
}

function asJson(valueOf: (request: IncomingMessage) => Promise<unknown>): Answer {
  return (request, response) =>
    void valueOf(request).then(
      (value) => send(response, 200, JSON.stringify(value)),
      (error: Error) => send(response, 400, JSON.stringify({ message: error.message })),
    )
}

function textsOf({ dns_results: records }: DnsCheckResult): string[] {
  return records.map(recordText)
}

/**
 * Writes a line of JSON for each location as it answers. The page asks for them along with the operation, which has the
 * same queries, so nobody is asked twice. Only the operation's answer says what is wrong with a question.
 */
async function streamRows(
  { api }: DevWorld,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // Not by URL, which throws on some that name their host.
  const asked = new URLSearchParams(request.url?.replace(/^[^?]*/, ''))
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  response.writeHead(200, { 'Content-Type': 'application/x-ndjson', 'Cache-Control': 'no-store' })
  response.flushHeaders()
  const question = { domain: asked.get('domain') ?? '', recordType: asked.get('type') as RecordType }
  await api
    .checkDns(question, {
      signal: gone.signal,
      onAnswer: (result, index) =>
        response.write(`${JSON.stringify({ index, result, texts: textsOf(result) })}\n`),
    })
    .catch(() => {})
  response.end()
}

/**
 * Strangers' texts are set as text. Should that ever fail, nothing runs but the page's own script, and nothing is fetched
 * from elsewhere.
 */
function policyOf(page: string): string {
  const [, style = ''] = /<style>([^]*?)<\/style>/.exec(page) ?? []
  const [, script = ''] = /<script type="module">([^]*?)<\/script>/.exec(page) ?? []
  return [
    "default-src 'none'",
    `style-src ${hashOf(style)}`,
    `script-src ${hashOf(script)}`,
    'img-src data:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')
}

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}

/** Answers of a check are far smaller. */
const maxBodyLength = 1_000_000

/** Reads JSON that this page sends. Another page could send any other type without being asked first (CORS). */
async function bodyOf(request: IncomingMessage): Promise<string> {
  const { 'content-type': type, origin, host } = request.headers
  if (type !== 'application/json' || (origin !== undefined && origin !== `http://${host}`))
    throw new Error('Only this page may ask for it, with Content-Type: application/json.')
  let text = ''
  // To its end, or the connection could not be used again.
  for await (const chunk of request.setEncoding('utf8'))
    if (text.length <= maxBodyLength) text += String(chunk)
  if (text.length > maxBodyLength) throw new Error('The body is too long.')
  return text
}
