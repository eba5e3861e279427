import { once } from 'node:events'
import type { Socket } from 'node:net'
import * as z from 'zod'
import { invalidOption } from '../domain/arguments.ts'
import type { DnsRecord } from '../domain/dns-record.ts'
import { FrameReader } from '../dns/tcp.ts'
import { setTimeout } from '../ports/timers.ts'
import { keepLast } from './keep-last.ts'
import { listenOnBoth } from './listen-on-both.ts'
import { callback, milliseconds, portNumber, requireValid } from './option-values.ts'
import { isFakeDnsRcode, readFakeDnsQuery, type FakeDnsQuery, type FakeDnsRcode } from './dns-query.ts'
import { requireEncodable, words } from './dns-encoding.ts'

export type { FakeDnsAnswer, FakeDnsQuery, FakeDnsRcode } from './dns-query.ts'

/**
 * What a {@link fakeDnsServer} answers, and how it misbehaves.
 *
 * @group Testing
 */
export interface FakeDnsServerOptions {
  /** The zone's records, shaped as in answers. A name with no record at or below it does not exist. Default: none. */
  readonly records?: readonly DnsRecord[]
  /** Answers everything with this code and without records. Default: what the records say. */
  readonly rcode?: FakeDnsRcode
  /** Waits this long before each answer, in milliseconds. Default: 0. */
  readonly delayMs?: number
  /** Leaves this many queries unanswered, then answers. `Infinity` never answers. Default: 0. */
  readonly drop?: number
  /** Truncates and empties every UDP answer, so that clients retry over TCP. Default: only answers that are too long. */
  readonly truncate?: boolean
  /** Address to listen on. Default: 127.0.0.1. */
  readonly ip?: '127.0.0.1' | '::1'
  /** Port for UDP and TCP. Default: a free one. */
  readonly port?: number
  /**
   * Replies instead of the server: with one message, several, or null for silence. Undefined leaves the answer to the
   * records. Start from `query.answer()` to send something nearly right.
   */
  readonly reply?: (query: FakeDnsQuery) => FakeDnsReply | Promise<FakeDnsReply>
}

/**
 * What `reply` may return.
 *
 * @group Testing
 */
export type FakeDnsReply = Uint8Array | readonly Uint8Array[] | null | undefined

/**
 * A DNS server on loopback.
 *
 * @group Testing
 */
export interface FakeDnsServer extends AsyncDisposable {
  /** The address it listens on. */
  readonly ip: string
  /** The port, the same for UDP and TCP. */
  readonly port: number
  /** The last thousand queries, in order. */
  readonly queries: readonly FakeDnsQuery[]
  /** Stops listening and ends all connections. */
  close(): Promise<void>
}

const schema = z
  .object({
    records: z.array(z.unknown()),
    rcode: z.custom(isFakeDnsRcode, 'must be the name or the number of a response code'),
    delayMs: milliseconds,
    drop: z.union([z.int().min(0), z.literal(Infinity)], 'must be a number of queries'),
    truncate: z.boolean(),
    ip: z.enum(['127.0.0.1', '::1']),
    port: portNumber,
    reply: callback(),
  } satisfies Record<keyof FakeDnsServerOptions, z.ZodType>)
  .partial()

/**
 * Starts a DNS server on loopback, over UDP and TCP: for tests and demonstrations.
 *
 * @example
 * ```ts
 * import { fakeDnsServer } from 'utility-api/testing'
 *
 * const server = await fakeDnsServer({
 *   records: [{ type: 'A', host: 'example.com', ttl: 60, ip: '192.0.2.1' }],
 * })
 * // … ask server.ip at server.port …
 * await server.close()
 * ```
 *
 * @throws `UtilityApiError` `invalid_options` if an option is unknown or invalid, or a record cannot be encoded
 *
 * @group Testing
 */
export async function fakeDnsServer(given: FakeDnsServerOptions = {}): Promise<FakeDnsServer> {
  requireValid(schema, given)
  // A copy: records that are changed after they were checked would fail in the middle of an answer.
  const options = { ...given, records: structuredClone(given.records ?? []) }
  requireRecords(options.records)
  const queries: FakeDnsQuery[] = []
  let received = 0
  const connections = new Set<Socket>()
  let closing: Promise<void> | undefined
  const { ip = '127.0.0.1', delayMs = 0, drop = 0 } = options

  async function respond(
    message: Buffer,
    transport: 'udp' | 'tcp',
    clientPort: number,
    send: (message: Uint8Array) => void,
  ): Promise<void> {
    const query = readFakeDnsQuery(message, transport, clientPort, options)
    if (query === null) return
    keepLast(queries, query)
    received += 1
    if (received <= drop) return
    const reply = options.reply === undefined ? undefined : await options.reply(query)
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs).unref())
    if (closing !== undefined) return
    for (const each of messagesOf(reply, query)) send(each)
  }

  const { tcp, udp, port } = await listenOnBoth(ip, options.port ?? 0)
  udp.on('message', (message, from) => {
    void respond(message, 'udp', from.port, (reply) => udp.send(reply, from.port, from.address, () => {}))
  })
  tcp.on('connection', (connection) => {
    connections.add(connection)
    const frames = new FrameReader()
    connection.on('error', () => {})
    connection.on('close', () => connections.delete(connection))
    connection.on('data', (chunk) => {
      for (const message of frames.add(chunk)) {
        void respond(message, 'tcp', connection.remotePort ?? 0, (reply) =>
          connection.write(Buffer.concat([words(reply.length), reply])),
        )
      }
    })
  })

  async function stop(): Promise<void> {
    for (const connection of connections) connection.destroy()
    udp.close()
    tcp.close()
    await Promise.all([once(udp, 'close'), once(tcp, 'close')])
  }
  const close = (): Promise<void> => (closing ??= stop())
  return { ip, port, queries, close, [Symbol.asyncDispose]: close }
}

/** Refuses a wrong record now. Later, the failure of a reply would not name it. */
function requireRecords(records: readonly DnsRecord[]): void {
  for (const [index, record] of records.entries()) {
    try {
      requireEncodable(record)
    } catch (error) {
      throw invalidOption(`records[${index}]`, `cannot be encoded: ${(error as Error).message}`)
    }
  }
}

function messagesOf(reply: FakeDnsReply, query: FakeDnsQuery): readonly Uint8Array[] {
  if (reply === null) return []
  if (reply === undefined) return [query.answer()]
  return reply instanceof Uint8Array ? [reply] : reply
}
