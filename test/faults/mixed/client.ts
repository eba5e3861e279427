import { Agent, request } from 'node:http'
import type { Socket } from 'node:net'
import { isDeepStrictEqual } from 'node:util'

/** An answer that was to come, and whether it did. */
export interface Answer {
  readonly status: number
  readonly json: unknown
  readonly tookMs: number
}

export interface SentRequest {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** Something that was wrong: how often, and the first time. */
interface Finding {
  count: number
  readonly example: string
}

/** Connections that are kept alive, the latencies of what went over them, and every answer that was wrong. */
export interface Client {
  readonly port: number
  /** Milliseconds, since they were last taken away. */
  readonly latencies: number[]
  /** What was wrong, and how often. */
  readonly findings: ReadonlyMap<string, Finding>
  answered: number
  /** Refusals that came when a deadline was over: a machine that does other work too has them. */
  late: number
  send(sent: SentRequest): Promise<Answer>
  /** Notes a finding unless an answer has this status, and this body or one that fits. */
  expect(what: string, answer: Answer, status: number, body: object | ((json: unknown) => boolean)): void
  /** Notes a finding. */
  report(what: string, example?: string): void
  close(): void
}

/** The server's shortest deadline is 1500 ms: what fails sooner has another reason. */
const shortestDeadlineMs = 1500

export function createClient(port: number, connections: number): Client {
  // The server closes what is at rest for six seconds: a request sent in that moment would be lost.
  const agent = new Agent({ keepAlive: true, maxSockets: connections, timeout: 3000 })
  const findings = new Map<string, Finding>()
  const client: Client = {
    port,
    latencies: [],
    findings,
    answered: 0,
    late: 0,
    async send(sent) {
      const started = performance.now()
      const answer = await sendOver(agent, port, sent)
      const tookMs = performance.now() - started
      client.latencies.push(tookMs)
      client.answered += 1
      return { ...answer, tookMs }
    },
    expect(what, answer, status, body) {
      const fits = typeof body === 'function' ? body(answer.json) : contains(answer.json, body)
      if (answer.status === status && fits) return
      if (answer.status === 500 && answer.tookMs >= shortestDeadlineMs) client.late += 1
      else {
        const example = `after ${Math.round(answer.tookMs)} ms: ${JSON.stringify(answer.json)}`
        client.report(`${what}: ${answer.status}`, example.slice(0, 300))
      }
    },
    report(what, example = '') {
      const known = findings.get(what)
      if (known === undefined) findings.set(what, { count: 1, example })
      else known.count += 1
    },
    close: () => agent.destroy(),
  }
  return client
}

function contains(json: unknown, members: object): boolean {
  const all = json as Readonly<Record<string, unknown>> | null
  return Object.entries(members).every(([name, value]) => isDeepStrictEqual(all?.[name], value))
}

/** When the last answer came over a connection. */
const lastUsed = new WeakMap<Socket, number>()

function sendOver(agent: Agent, port: number, sent: SentRequest): Promise<Omit<Answer, 'tookMs'>> {
  const { method, path, headers = {}, body } = sent
  return new Promise((resolve, reject) => {
    let idleMs: number | undefined
    // What a connection was before tells whether the server closed it at rest or in the middle of a request.
    const fail = (error: Error): void => {
      const connection = idleMs === undefined ? 'new' : `${Math.round(idleMs)} ms at rest`
      reject(new Error(`${method} ${path}, connection ${connection}: ${error.message}`))
    }
    const outgoing = request({ agent, host: '127.0.0.1', port, method, path, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => (text += chunk))
      response.on('end', () => {
        if (outgoing.socket !== null) lastUsed.set(outgoing.socket, performance.now())
        resolve({ status: response.statusCode ?? 0, json: parse(text) })
      })
      response.on('error', fail)
    })
    outgoing.on('socket', (socket) => {
      const usedAt = lastUsed.get(socket)
      if (usedAt !== undefined) idleMs = performance.now() - usedAt
    })
    outgoing.on('error', fail)
    outgoing.end(body)
  })
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
