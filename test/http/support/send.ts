import { request as httpRequest, type IncomingMessage } from 'node:http'
import type { UtilityApi } from 'utility-api'

/** A request as the tests write it. A list of values sends the header once for each. */
export interface TestRequest {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly body?: string | Uint8Array
}

export interface TestAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  readonly json: unknown
}

export async function sendToFetch(
  api: Pick<UtilityApi, 'fetch'>,
  { method, path, headers = {}, body }: TestRequest,
): Promise<TestAnswer> {
  const pairs = Object.entries(headers).flatMap(([name, value]) =>
    [value].flat().map((each): [string, string] => [name, each]),
  )
  const response = await api.fetch(
    new Request(`http://localhost${path}`, {
      method,
      headers: pairs,
      ...(body !== undefined && { body: body as BodyInit }),
    }),
  )
  return answerOf(response.status, Object.fromEntries(response.headers), await response.text())
}

/** Sends with node:http, which lets Latin-1 octets, repeated headers and any path through. */
export function sendToPort(
  port: number,
  { method, path, headers = {}, body }: TestRequest,
): Promise<TestAnswer> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest({ host: '127.0.0.1', port, method, path, agent: false }, (response) => {
      readText(response).then(
        (text) =>
          resolve(answerOf(response.statusCode ?? 0, response.headers as Record<string, string>, text)),
        reject,
      )
    })
    sent.on('error', reject)
    for (const [name, value] of Object.entries(headers)) sent.setHeader(name, value)
    sent.end(body)
  })
}

async function readText(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

export function answerOf(status: number, headers: Record<string, string>, text: string): TestAnswer {
  return { status, headers, text, json: parse(text) }
}

/** Returns what a text of JSON says; undefined if it is none. */
export function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
