import { connect, type Socket } from 'node:net'

/** One answer as it came over the wire. */
export interface RawAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A connection on which a test writes what it likes, well-formed or not. */
export interface RawClient {
  readonly socket: Socket
  write(text: string | Uint8Array): void
  /** The next answer; rejects when the connection ends before. `bodiless` after a HEAD. */
  answer(bodiless?: 'bodiless'): Promise<RawAnswer>
  /** Resolves when the other side has ended the connection. */
  ended(): Promise<void>
  close(): void
}

export async function rawClient(port: number): Promise<RawClient> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  let received = Buffer.alloc(0)
  const state = { ended: false }
  let wake = (): void => {}
  const end = (): void => {
    state.ended = true
    wake()
  }
  socket.on('data', (chunk) => {
    received = Buffer.concat([received, chunk])
    wake()
  })
  socket.on('end', end).on('close', end).on('error', end)
  await new Promise<void>((resolve) => socket.once('connect', resolve))

  const next = (): Promise<void> => new Promise((resolve) => (wake = resolve))
  return {
    socket,
    write: (text) => void socket.write(text, typeof text === 'string' ? 'latin1' : undefined),
    async answer(bodiless) {
      for (;;) {
        const parsed = parseAnswer(received, bodiless !== undefined)
        if (parsed !== null) {
          received = received.subarray(parsed.length)
          if (parsed.answer.status !== 100) return parsed.answer
        } else if (state.ended) {
          throw new Error(`The connection ended after ${JSON.stringify(received.toString('latin1'))}.`)
        } else await next()
      }
    },
    async ended() {
      while (!state.ended) await next()
    },
    close: () => socket.destroy(),
  }
}

function parseAnswer(bytes: Buffer, bodiless: boolean): { answer: RawAnswer; length: number } | null {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd < 0) return null
  const [statusLine = '', ...lines] = bytes.subarray(0, headEnd).toString('latin1').split('\r\n')
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    }),
  )
  const bodyStart = headEnd + 4
  const size = bodiless ? 0 : Number(headers['content-length'] ?? 0)
  if (bytes.length < bodyStart + size) return null
  const body = bytes.subarray(bodyStart, bodyStart + size).toString('utf8')
  return { answer: { status: Number(statusLine.split(' ')[1]), headers, body }, length: bodyStart + size }
}

/** The text of a request; `Host` is there unless it is given. */
export function rawRequestText(
  line: string,
  headers: Readonly<Record<string, string>> = {},
  body: string = '',
): string {
  const all = { Host: 'localhost', ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  return [`${line} HTTP/1.1`, ...lines, '', body].join('\r\n')
}
