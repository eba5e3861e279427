import { connect, type ClientHttp2Session } from 'node:http2'
import type { UtilityApi } from 'utility-api'
import { hosts, isInstalled } from '../../hosts/hosts.ts'
import {
  expresses,
  onExpress,
  onExpressAfterParsers,
  onExpressRouter,
  onFastify,
  onHono,
  onHttp2,
  onNode,
  type Host,
} from './hosts.ts'
import { hasPrism, startPrism } from './prism.ts'
import { answerOf, sendToFetch, sendToPort, type TestAnswer, type TestRequest } from './send.ts'

export type { TestAnswer, TestRequest } from './send.ts'

/** A way to reach the operations: the same request must get the same answer on all of them. */
export interface Surface {
  /** Where it listens for HTTP/1, if it does. */
  readonly address?: { readonly port: number; readonly prefix: string }
  send(request: TestRequest): Promise<TestAnswer>
  close(): Promise<void>
}

export type StartSurface = (api: UtilityApi) => Promise<Surface>

/** Whether everything goes through all surfaces and all runtimes, as in `npm run test:long`. */
export const allSurfaces: boolean = process.env['ALL_SURFACES'] !== undefined

/** The surfaces that run in this process. */
export const surfaces: Readonly<Record<string, StartSurface>> = {
  'api.fetch': async (api) => ({ send: (request) => sendToFetch(api, request), close: async () => {} }),
  'Node http': listening(onNode),
  'Node http2': startHttp2,
  ...Object.fromEntries(
    Object.entries(expresses).flatMap(([name, express]): [string, StartSurface][] => [
      [name, listening((api) => onExpress(express, api))],
      [`${name} after body parsers`, listening((api) => onExpressAfterParsers(express, api))],
      [`${name} router under a prefix`, listening((api) => onExpressRouter(express, api))],
    ]),
  ),
  Fastify: listening(onFastify),
  Hono: listening(onHono),
  ...(allSurfaces && hasPrism && { Prism: startPrism }),
  ...Object.fromEntries(
    hosts.flatMap(({ name, start }) => (allSurfaces && isInstalled && start ? [[name, start]] : [])),
  ),
}

/** Rows, by their names, that some hosts judge by rules of their own before we see the request. */
const judgedFirst: readonly (readonly [surface: RegExp, row: RegExp])[] = [
  // Body parsers read charsets and encodings, answer malformed JSON, and keep the last of two equal JSON members.
  [
    /after body parsers$/,
    /charset "[^"]|Content-Encoding|^JSON [^[]|no UTF-8$|^form code=%|64 KB, which is read|repeated \w+ in JSON|repeated member/,
  ],
  // HTTP/2 knows no spaces around a value, and Node's client sends one Authorization header at most.
  [/http2$/, /a repeated header$|"  example\.com  "/],
  // Express 4 takes a slash too many off with the prefix.
  [/^Express 4 router/, /^path \/\//],
  // Fastify decodes the path before it routes.
  [/^Fastify$/, /that is a broken escape|that is no UTF-8/],
]

export function judgedByHost(surface: string, row: string): boolean {
  return (
    judgedFirst.some(([host, name]) => host.test(surface) && name.test(row)) ||
    hosts.some(({ name, judges }) => name === surface && judges?.test(row) === true)
  )
}

function surfaceOf({ port, prefix, close }: Host): Surface {
  return {
    address: { port, prefix },
    send: (request) => sendToPort(port, { ...request, path: prefix + request.path }),
    close,
  }
}

function listening(start: (api: UtilityApi) => Promise<Host>): StartSurface {
  return async (api) => surfaceOf(await start(api))
}

async function startHttp2(api: UtilityApi): Promise<Surface> {
  const { port, close } = await onHttp2(api)
  const session = connect(`http://127.0.0.1:${port}`)
  return {
    send: (request) => sendToSession(session, request),
    async close() {
      session.destroy()
      await close()
    },
  }
}

function sendToSession(session: ClientHttp2Session, request: TestRequest): Promise<TestAnswer> {
  const { method, path, headers = {}, body } = request
  return new Promise((resolve, reject) => {
    const fields = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])
    const authorization = headers['Authorization']
    // Node's client refuses to send it.
    if (Array.isArray(authorization)) return resolve(answerOf(400, {}, ''))
    const stream = session.request({ ':method': method, ':path': path, ...Object.fromEntries(fields) })
    const chunks: Buffer[] = []
    let received: Record<string, string> = {}
    stream.on('response', (answer) => {
      received = answer as Record<string, string>
    })
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('end', () =>
      resolve(answerOf(Number(received[':status']), received, Buffer.concat(chunks).toString('utf8'))),
    )
    stream.on('error', reject)
    stream.end(body)
  })
}
