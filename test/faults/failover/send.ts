import { Agent, request, type OutgoingHttpHeaders } from 'node:http'

export interface Answer {
  /** 0 where none came. */
  readonly status: number
  readonly body: string
  readonly askedAt: number
  readonly tookMs: number
}

const agent = new Agent({ keepAlive: true })

/** Bounds what a server that never answers can cost us; ten times as long as one may take. */
const patienceMs = 50_000

/** One request; resolves whatever comes of it. */
export function send(
  url: string,
  method: string,
  headers: OutgoingHttpHeaders = {},
  body: string = '',
): Promise<Answer> {
  const askedAt = performance.now()
  return new Promise((resolve) => {
    const end = (status: number, text: string): void =>
      resolve({ status, body: text, askedAt, tookMs: performance.now() - askedAt })
    const lost = (): void => end(0, '')
    const options = { method, agent, headers: { ...headers, 'Content-Length': Buffer.byteLength(body) } }
    const sent = request(url, options, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => (text += chunk))
      response.on('end', () => end(response.statusCode ?? 0, text)).on('error', lost)
    })
    sent.setTimeout(patienceMs, () => sent.destroy()).on('error', lost)
    sent.end(body)
  })
}
