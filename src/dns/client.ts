import type { DnsAnswer } from '../domain/dns-answer.ts'
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
import { clearInterval, performance, setInterval } from '../ports/timers.ts'
import { Query } from './query.ts'
import type { ServerAddress } from './reply-listener.ts'
import { UdpPool } from './udp.ts'
import { WaitingRoom } from './waiting-room.ts'
import { encodeQuery, type EncodedQuery, type QueryOptions } from './wire/encoded-query.ts'

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
 * Every question is sent, even if an equal one is under way. A program that takes names from strangers shares equal ones,
 * as `api.checkDns` does: with many alike under way, a forged answer is right for one of them sooner.
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
  const pools = new Map<string, readonly UdpPool[]>()
  const waitingRoom = new WaitingRoom<Query>()
  let sweeper: NodeJS.Timeout | undefined
  let closed = false
  let latest: (QueryOptions & { readonly name: string; readonly encoded: EncodedQuery }) | undefined

  function poolOf({ ip, port = 53 }: DnsQuestion['server']): UdpPool {
    const atAddress = pools.get(ip) ?? []
    for (const pool of atAddress) if (pool.server.port === port) return pool
    const pool = new UdpPool(checkedServer(ip, port))
    pools.set(ip, [...atAddress, pool])
    sweeper ??= setInterval(sweep, maxSocketAgeMs / 2).unref()
    return pool
  }

  function sweep(): void {
    const openedBefore = performance.now() - maxSocketAgeMs
    for (const [ip, atAddress] of pools) {
      const inUse = atAddress.filter((pool) => pool.retire(openedBefore))
      if (inUse.length > 0) pools.set(ip, inUse)
      else pools.delete(ip)
    }
    if (pools.size > 0) return
    clearInterval(sweeper)
    sweeper = undefined
  }

  /** A check puts one question to many resolvers in a row: it is encoded once. */
  function encode(question: DnsQuestion): EncodedQuery {
    const { name, type, clientSubnet, recursionDesired, checkingDisabled } = question
    if (
      latest?.name !== name ||
      latest.encoded.type !== type ||
      latest.clientSubnet !== clientSubnet ||
      latest.recursionDesired !== recursionDesired ||
      latest.checkingDisabled !== checkingDisabled
    ) {
      const terms = { clientSubnet, recursionDesired, checkingDisabled }
      latest = { name, ...terms, encoded: encodeQuery(name, type, terms) }
    }
    return latest.encoded
  }

  function ask(question: DnsQuestion, resolve: Resolve, reject: Reject): void {
    const { signal, timeoutMs = defaultTimeoutMs } = question
    signal?.throwIfAborted()
    const encoded = encode(question)
    const pool = poolOf(question.server)
    demand(isTimeout(timeoutMs), 'timeoutMs must be a positive number of milliseconds.')
    const tcpOnly = question.transport === 'tcp'
    const onAnswer: Resolve = (answer) => {
      signal?.removeEventListener('abort', abort)
      resolve(answer)
    }
    const abort = (): void => {
      reject(signal?.reason)
      query.end('UNREACHABLE')
    }
    const terms = { timeoutMs, tcpOnly, waitingRoom }
    const query = new Query({ encoded, pool, ...terms, onAnswer, onLocalFailure: reject })
    signal?.addEventListener('abort', abort, { once: true })
  }

  return {
    query: (question) =>
      new Promise((resolve, reject) => {
        // Anything thrown here rejects the promise.
        demandQuestion(question)
        if (closed) resolve(closedAnswer)
        else ask(question, resolve, reject)
      }),
    async close() {
      closed = true
      clearInterval(sweeper)
      for (const query of waitingRoom.everyone()) query.end('UNREACHABLE')
      for (const pool of [...pools.values()].flat()) pool.close()
      pools.clear()
    },
  }
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
  'checkingDisabled',
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
  const { clientSubnet, recursionDesired, checkingDisabled, transport } = question
  demand(clientSubnet === undefined || typeof clientSubnet === 'string', 'clientSubnet must be a string.')
  demand(
    recursionDesired === undefined || typeof recursionDesired === 'boolean',
    'recursionDesired must be true or false.',
  )
  demand(
    checkingDisabled === undefined || typeof checkingDisabled === 'boolean',
    'checkingDisabled must be true or false.',
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
