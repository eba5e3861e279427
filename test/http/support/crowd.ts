/** What fills a server with connections, and what is answered beside them. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { request as httpsRequest } from 'node:https'
import { connect, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { rawRequestText } from './raw.ts'

/** Options of TLS without a certificate, for both sides. */
export const anonymous = { ciphers: 'AECDH-AES128-SHA:@SECLEVEL=0', maxVersion: 'TLSv1.2' } as const

export type Protocol = 'http' | 'https' | 'http2' | 'http2 over TLS'

const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
const settings = frame(4, 0, 0)
/** A stream's window of no octet. */
const noWindow = frame(4, 0, 0, 0, 4, 0, 0, 0, 0)
/** The headers of a request, by their places in HPACK's table: the scheme, the path and one more. */
const get = [0x82, 0x86, 0x84]
const post = [0x83, 0x86, 0x84]

function frame(type: number, flags: number, stream: number, ...payload: number[]): string {
  return String.fromCharCode(0, 0, payload.length, type, flags, 0, 0, 0, stream, ...payload)
}

const http1Kinds: Readonly<Record<string, string>> = {
  idle: '',
  'kept alive': rawRequestText('GET /'),
  'half a header': 'GET / HTTP/1.1\r\nHost: local',
  'half a body': rawRequestText(
    'POST /v4/oauth2/token',
    { 'Content-Type': 'application/json', 'Content-Length': '1000' },
    '{"half":',
  ),
  pipelined: rawRequestText('GET /').repeat(15) + 'GET / HTTP/1.1\r\n',
}
const http2Kinds: Readonly<Record<string, string>> = {
  idle: preface + settings,
  'half a preface': preface.slice(0, 10),
  'half a header': preface + settings + frame(1, 0, 1, ...get),
  'half a body': preface + settings + frame(1, 4, 1, ...post),
  'answers without room': preface + noWindow + frame(1, 5, 1, ...get),
}

/** The kinds of connections that fill a server, with what a client sends on each; null is no TLS handshake. */
export function kindsOf(protocol: Protocol): readonly (readonly [kind: string, sent: string | null])[] {
  const kinds = Object.entries(protocol.startsWith('http2') ? http2Kinds : http1Kinds)
  return isTls(protocol) ? [['no handshake', null], ...kinds] : kinds
}

function isTls(protocol: Protocol): boolean {
  return protocol !== 'http' && protocol !== 'http2'
}

const program = fileURLToPath(new URL('./full-server.ts', import.meta.url))
const sources = new URL('../../support/sources.ts', import.meta.url).href

/** Starts a server in a process that may open so many files. */
export async function startFull(
  host: string,
  files: number,
  heapMb = 256,
): Promise<{ port: number } & Disposable> {
  const args = [`--max-old-space-size=${heapMb}`, '--import', sources, program, host]
  const limited = ['-c', `ulimit -n ${files}; exec "$@"`, 'bash', process.execPath, ...args]
  const child = spawn('bash', limited, { stdio: ['pipe', 'pipe', 'inherit'] })
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  return { port: Number(line), [Symbol.dispose]: () => void child.kill('SIGKILL') }
}

/**
 * Opens so many connections, a hundred at a time, which send this and then nothing. A full server accepts not all. If
 * they return, each is opened again once it has ended. Then sends ten requests, one after the other, each on a connection
 * of its own, and returns how many are answered. Beside those that return, they come from another address, and count only
 * if a connection from there, opened before them, is still open after them.
 */
export async function answeredBeside(
  count: number,
  port: number,
  protocol: Protocol,
  sent: string | null,
  returning = false,
): Promise<number> {
  const crowd = new Set<Socket>()
  let returns = returning
  const openNext = (): Promise<unknown> => {
    const { socket, open } = openOne(port, protocol, sent)
    crowd.add(socket)
    socket.once('close', () => {
      crowd.delete(socket)
      if (returns) setTimeout(openNext, 50)
    })
    return open
  }
  for (let opened = 0; opened < count; opened += 100) {
    const more = Array.from({ length: 100 }, openNext)
    // oxlint-disable-next-line no-await-in-loop -- one hundred after the other
    await Promise.race([Promise.all(more), wait(10_000)])
  }
  const address = returning ? '127.0.0.2' : '127.0.0.1'
  const other = openOne(port, protocol, '', address)
  await other.open
  const ask = protocol.startsWith('http2') ? askHttp2 : askHttp1
  let answers = 0
  for (let asked = 0; asked < 10; asked += 1) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    if (await ask(port, protocol, address)) answers += 1
  }
  returns = false
  const isKept = !returning || !other.socket.closed
  for (const socket of [other.socket, ...crowd]) socket.destroy()
  return isKept ? answers : 0
}

function openOne(
  port: number,
  protocol: Protocol,
  sent: string | null,
  localAddress = '127.0.0.1',
): { socket: Socket; open: Promise<unknown> } {
  const address = { host: '127.0.0.1', port, localAddress }
  const ALPNProtocols = protocol === 'https' ? ['http/1.1'] : ['h2']
  const socket =
    isTls(protocol) && sent !== null
      ? connectTls({ ...anonymous, ...address, rejectUnauthorized: false, ALPNProtocols })
      : connect(address)
  socket.on('error', () => {}).resume()
  const opened = 'encrypted' in socket ? 'secureConnect' : 'connect'
  if (sent) socket.once(opened, () => socket.write(sent, 'latin1'))
  return { socket, open: Promise.race([once(socket, opened), once(socket, 'close')]).catch(() => {}) }
}

const path = '/v3/tools/dnscheck'

async function askHttp1(port: number, protocol: Protocol, localAddress: string): Promise<boolean> {
  const signal = AbortSignal.timeout(5000)
  const options = { port, host: '127.0.0.1', localAddress, path, agent: false, signal } as const
  const request: ClientRequest =
    protocol === 'https'
      ? httpsRequest({ ...options, ...anonymous, rejectUnauthorized: false })
      : httpRequest(options)
  try {
    const [response] = (await once(request.end(), 'response')) as [IncomingMessage]
    return response.statusCode === 401
  } catch {
    return false
  } finally {
    request.destroy()
  }
}

async function askHttp2(port: number, protocol: Protocol, localAddress: string): Promise<boolean> {
  const scheme = isTls(protocol) ? 'https' : 'http'
  const signal = AbortSignal.timeout(5000)
  const options = { ...anonymous, localAddress, rejectUnauthorized: false }
  const session = connectHttp2(`${scheme}://127.0.0.1:${port}`, options)
  session.on('error', () => {})
  try {
    const [headers] = (await once(session.request({ ':path': path }), 'response', { signal })) as [
      { ':status': number },
    ]
    return headers[':status'] === 401
  } catch {
    return false
  } finally {
    session.destroy()
  }
}
