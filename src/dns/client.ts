import type { DnsAnswer, RecordType } from '../domain/dns-answer.ts'
import {
  demand,
  demandKnown,
  invalidOption,
  isPort,
  isSignal,
  isTimeout,
  requireOptions,
} from '../domain/arguments.ts'
import { isDnsServerAddress } from '../domain/ip-address.ts'
import type { DnsClient, DnsQuestion } from '../ports/dns-client.ts'
import { OpenQuestions } from './open-questions.ts'
import { Query, type Asker, type Upstream } from './query.ts'
import type { ServerAddress } from './reply-listener.ts'
import { UdpPool } from './udp.ts'
import { WaitingRoom } from './waiting-room.ts'
import { encodeQuery, type EncodedQuery } from './wire/encoded-query.ts'

/**
 * Options of {@link createDnsClient}.
 *
 * @group DNS
 */
export interface DnsClientOptions {
  /** Deadline of a query that does not set its own, in milliseconds. Default: 5000. */
  readonly timeoutMs?: number
}

/** The age at which the next sweep retires a socket, so that no port is known for long and an idle client holds none. */
const maxSocketAgeMs = 10_000

/**
 * Creates a client that asks resolvers over UDP, and over TCP if an answer does not fit in a datagram.
 *
 * Sockets open when a query needs them, close when they are ten to fifteen seconds old, and never keep the process alive.
 * Equal questions under way share one query, since with many alike a forged answer would be right for one of them sooner.
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
 * @throws `UtilityApiError` `invalid_options` if an option is invalid or unknown
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc5452 | RFC 5452} for what keeps forged answers out
 *
 * @group DNS
 */
export function createDnsClient(options: DnsClientOptions = {}): DnsClient {
  requireOptions(options, ['timeoutMs'])
  const defaultTimeoutMs = options.timeoutMs ?? 5000
  if (!isTimeout(defaultTimeoutMs))
    throw invalidOption('timeoutMs', 'must be a positive number of milliseconds')
  /** Keyed by address; few addresses have more than one port. */
  const upstreams = new Map<string, readonly Upstream[]>()
  const waitingRoom = new WaitingRoom<Query>()
  let sweeper: NodeJS.Timeout | undefined
  let closed = false
  let latest: Encoded | undefined

  function upstreamOf({ ip, port = 53 }: DnsQuestion['server']): Upstream {
    const atAddress = upstreams.get(ip) ?? []
    for (const upstream of atAddress) if (upstream.server.port === port) return upstream
    const server = checkedServer(ip, port)
    const upstream = { server, pool: new UdpPool(server), underWay: new OpenQuestions<Query>() }
    upstreams.set(ip, [...atAddress, upstream])
    sweeper ??= setInterval(sweep, maxSocketAgeMs / 2).unref()
    return upstream
  }

  function sweep(): void {
    const openedBefore = performance.now() - maxSocketAgeMs
    for (const [ip, atAddress] of upstreams) {
      const inUse = atAddress.filter(({ pool }) => pool.retire(openedBefore))
      if (inUse.length > 0) upstreams.set(ip, inUse)
      else upstreams.delete(ip)
    }
    if (upstreams.size > 0) return
    clearInterval(sweeper)
    sweeper = undefined
  }

  /** A check puts one question to many resolvers in a row: it is encoded once. */
  function encode(question: DnsQuestion): EncodedQuery {
    const { name, type, clientSubnet, recursionDesired = true } = question
    if (
      latest?.name !== name ||
      latest.type !== type ||
      latest.clientSubnet !== clientSubnet ||
      latest.recursionDesired !== recursionDesired
    ) {
      const encoded = encodeQuery(name, type, { clientSubnet, recursionDesired })
      latest = { name, type, clientSubnet, recursionDesired, encoded }
    }
    return latest.encoded
  }

  /** Returns the query that the asker waits for: one under way for the same question, or a new one. */
  function askOrJoin(question: DnsQuestion, asker: Asker): Query {
    const encoded = encode(question)
    const upstream = upstreamOf(question.server)
    const timeoutMs = question.timeoutMs ?? defaultTimeoutMs
    demand(isTimeout(timeoutMs), 'timeoutMs must be a positive number of milliseconds.')
    const tcpOnly = question.transport === 'tcp'
    const present = upstream.underWay.find(encoded, tcpOnly)
    if (present?.suits(asker, timeoutMs) !== true)
      return new Query({ encoded, upstream, timeoutMs, tcpOnly, waitingRoom }, asker)
    present.join(asker)
    return present
  }

  function ask(question: DnsQuestion, onAnswer: Resolve): void {
    askOrJoin(question, { askedAt: performance.now(), onAnswer })
  }

  function askUntil(signal: AbortSignal, question: DnsQuestion, resolve: Resolve, reject: Reject): void {
    signal.throwIfAborted()
    const asker: Asker = {
      askedAt: performance.now(),
      onAnswer(answer) {
        signal.removeEventListener('abort', abort)
        resolve(answer)
      },
    }
    const abort = (): void => {
      reject(signal.reason)
      query.leave(asker)
    }
    const query = askOrJoin(question, asker)
    signal.addEventListener('abort', abort, { once: true })
  }

  return {
    query: (question) =>
      new Promise((resolve, reject) => {
        // Anything thrown here rejects the promise.
        demandQuestion(question)
        if (closed) resolve(closedAnswer)
        else if (question.signal === undefined) ask(question, resolve)
        else askUntil(question.signal, question, resolve, reject)
      }),
    async close() {
      closed = true
      clearInterval(sweeper)
      for (const query of waitingRoom.everyone()) query.end('UNREACHABLE')
      for (const { pool } of [...upstreams.values()].flat()) pool.close()
      upstreams.clear()
    },
  }
}

interface Encoded {
  readonly name: string
  readonly type: RecordType
  readonly clientSubnet: string | undefined
  readonly recursionDesired: boolean
  readonly encoded: EncodedQuery
}

type Resolve = (answer: DnsAnswer) => void
type Reject = (reason: unknown) => void

const closedAnswer: DnsAnswer = {
  status: 'UNREACHABLE',
  records: [],
  cnameChain: [],
  transport: 'udp',
  latencyMs: 0,
}

const members: ReadonlySet<string> = new Set<keyof DnsQuestion>([
  'name',
  'type',
  'server',
  'timeoutMs',
  'clientSubnet',
  'recursionDesired',
  'transport',
  'signal',
])

/** Refuses what is not made of the right parts, before a part that is missing is used. */
function demandQuestion(question: Partial<DnsQuestion> | undefined): void {
  demand(
    typeof question === 'object' && question !== null,
    'The question must be an object: write query({ name, type, server: { ip } }).',
  )
  demandKnown(question, members)
  demand(typeof question.name === 'string', 'name must be a string.')
  demand(typeof question.server === 'object', 'server must be an object: write { server: { ip } }.')
  demand(typeof question.server?.ip === 'string', 'server.ip must be an IPv4 or IPv6 address.')
  const { clientSubnet, recursionDesired, transport } = question
  demand(clientSubnet === undefined || typeof clientSubnet === 'string', 'clientSubnet must be a string.')
  demand(
    recursionDesired === undefined || typeof recursionDesired === 'boolean',
    'recursionDesired must be true or false.',
  )
  demand(
    transport === undefined || transport === 'udp' || transport === 'tcp',
    "transport must be 'udp' or 'tcp'.",
  )
  demand(isSignal(question.signal), 'signal must be an AbortSignal.')
}

function checkedServer(ip: string, port: number): ServerAddress {
  demand(isDnsServerAddress(ip), 'server.ip must be an IPv4 or IPv6 address.')
  demand(isPort(port), 'server.port must be a port number.')
  return { ip, port }
}
