import type { DnsAnswer } from '../domain/dns-check.ts'
import { UtilityApiError } from '../domain/errors.ts'
import { parseIpAddress } from '../domain/ip-address.ts'
import type { DnsClient, DnsQuestion } from '../ports/dns-client.ts'
import { Exchange } from './exchange.ts'
import { encodeQuery, type Query } from './query.ts'
import { createUdpPool, type Server, type UdpPool } from './udp.ts'

/**
 * Options of {@link createDnsClient}.
 *
 * @group DNS
 */
export interface DnsClientOptions {
  /** Deadline of a query that names none, in milliseconds. Default: 5000. */
  readonly timeoutMs?: number
}

/** A socket is replaced at this age, so that a port is not known for long and an idle client holds none. */
const maxSocketAgeMs = 10_000
const longestTimeoutMs = 0x7fff_ffff

interface Resolver {
  readonly server: Server
  readonly pool: UdpPool
}

/**
 * Makes a client that asks resolvers over UDP, and over TCP where an answer does not fit a datagram.
 *
 * Sockets open when a query needs them, close when they are ten seconds old, and never keep the process alive.
 *
 * @example
 * ```ts
 * import { createDnsClient } from 'utility-api/dns'
 *
 * const client = createDnsClient()
 * const answer = await client.query({ name: 'example.com', type: 'MX', server: { ip: '9.9.9.10' } })
 * if (answer.status === 'NOERROR') console.log(answer.records)
 * await client.close()
 * ```
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc5452 | RFC 5452} for what keeps forged answers out
 *
 * @group DNS
 */
export function createDnsClient(options: DnsClientOptions = {}): DnsClient {
  const defaultTimeoutMs = checkedTimeout(options.timeoutMs ?? 5000)
  const resolvers = new Map<string, Resolver>()
  const underWay = new UnderWay()
  let sweeper: NodeJS.Timeout | undefined
  let closed = false
  let latest: { readonly key: string; readonly query: Query } | undefined

  function resolverFor({ ip, port = 53 }: DnsQuestion['server']): Resolver {
    const key = `${ip} ${port}`
    const known = resolvers.get(key)
    if (known !== undefined) return known
    const server = checkedServer(ip, port)
    const resolver = { server, pool: createUdpPool(server) }
    resolvers.set(key, resolver)
    sweeper ??= setInterval(sweep, maxSocketAgeMs / 2).unref()
    return resolver
  }

  function sweep(): void {
    for (const [key, { pool }] of resolvers) {
      if (!pool.retire(performance.now() - maxSocketAgeMs)) resolvers.delete(key)
    }
    if (resolvers.size > 0) return
    clearInterval(sweeper)
    sweeper = undefined
  }

  /** A check puts one question to many resolvers in a row: it is encoded once. */
  function encode({ name, type, clientSubnet }: DnsQuestion): Query {
    const key = `${type} ${clientSubnet ?? ''} ${name}`
    if (latest?.key !== key) latest = { key, query: encodeQuery(name, type, clientSubnet) }
    return latest.query
  }

  function start(question: DnsQuestion, resolve: Resolve, reject: (reason: unknown) => void): void {
    const { signal, timeoutMs = defaultTimeoutMs } = question
    signal?.throwIfAborted()
    const query = encode(question)
    const { server, pool } = resolverFor(question.server)
    const onEnd = (answer: DnsAnswer): void => {
      underWay.remove(exchange)
      signal?.removeEventListener('abort', abort)
      resolve(answer)
    }
    const exchange = new Exchange({ query, server, pool, timeoutMs: checkedTimeout(timeoutMs), onEnd })
    const abort = (): void => {
      // First, as a promise settles once.
      reject(signal?.reason)
      exchange.end('UNREACHABLE')
    }
    underWay.add(exchange)
    signal?.addEventListener('abort', abort, { once: true })
  }

  return {
    query: (question) =>
      new Promise((resolve, reject) => {
        if (closed) resolve(closedAnswer)
        // What it throws rejects the promise.
        else start(question, resolve, reject)
      }),
    async close() {
      closed = true
      clearInterval(sweeper)
      underWay.endAll()
      for (const { pool } of resolvers.values()) pool.close()
      resolvers.clear()
    },
  }
}

/**
 * The exchanges that are not over. An array whose gaps its last one fills, as a set that is added to and deleted from all
 * the time keeps its former tables alive, and what is in them, until a major garbage collection.
 */
class UnderWay {
  private readonly exchanges: Exchange[] = []

  add(exchange: Exchange): void {
    exchange.place = this.exchanges.length
    this.exchanges.push(exchange)
  }

  remove(exchange: Exchange): void {
    const last = this.exchanges.pop()
    if (last === undefined || last === exchange) return
    this.exchanges[exchange.place] = last
    last.place = exchange.place
  }

  endAll(): void {
    for (const exchange of this.exchanges.slice()) exchange.end('UNREACHABLE')
  }
}

type Resolve = (answer: DnsAnswer) => void

const closedAnswer: DnsAnswer = {
  status: 'UNREACHABLE',
  records: [],
  cnameChain: [],
  transport: 'udp',
  latencyMs: 0,
}

function checkedTimeout(timeoutMs: number): number {
  if (timeoutMs > 0 && timeoutMs <= longestTimeoutMs) return timeoutMs
  throw new UtilityApiError('invalid_argument', 'timeoutMs must be a positive number of milliseconds.')
}

function checkedServer(ip: string, port: number): Server {
  if (parseIpAddress(ip) === null)
    throw new UtilityApiError('invalid_argument', 'server.ip must be an IPv4 or IPv6 address.')
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw new UtilityApiError('invalid_argument', 'server.port must be a port number.')
  return { ip, port }
}
