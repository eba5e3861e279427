import type { DnsAnswer } from '../domain/dns-answer.ts'
import { demand, demandKnown, isPort, isSignal, isTimeout } from '../domain/arguments.ts'
import { isDnsServerAddress } from '../domain/ip-address.ts'
import type { DnsClient, DnsQuestion } from '../ports/dns-client.ts'
import { Query, type Route } from './query.ts'
import type { ServerAddress } from './transport-types.ts'
import { WaitingRoom } from './waiting-room.ts'
import { encodeQuery, type EncodedQuery } from './wire/encoded-query.ts'

/** How a client reaches resolvers. */
export interface Transport {
  readonly name: DnsAnswer['transport']
  /** Deadline of a query that does not set its own. */
  readonly timeoutMs: number
  /** Returns the ways to a question's server. Throws if it is not written as one. */
  routeTo(question: DnsQuestion): Route
  /** Called when all queries have ended. */
  close(): void
}

/** Creates a client that asks over a transport. */
export function clientOver(transport: Transport): DnsClient {
  const waitingRoom = new WaitingRoom<Query>()
  let closed = false
  let latest: Latest | undefined

  /** A check puts one question to many resolvers in a row, so it is encoded once. */
  function encode(question: DnsQuestion): EncodedQuery {
    const { name, type, clientSubnet, recursionDesired, checkingDisabled } = question
    if (
      latest?.name !== name ||
      latest.encoded.type !== type ||
      latest.clientSubnet !== clientSubnet ||
      latest.recursionDesired !== recursionDesired ||
      latest.checkingDisabled !== checkingDisabled
    ) {
      const encoded = encodeQuery(name, type, question)
      latest = { name, clientSubnet, recursionDesired, checkingDisabled, encoded }
    }
    return latest.encoded
  }

  function ask(question: DnsQuestion, resolve: Resolve, reject: Reject): void {
    const { signal, timeoutMs = transport.timeoutMs } = question
    signal?.throwIfAborted()
    const encoded = encode(question)
    const route = transport.routeTo(question)
    demand(isTimeout(timeoutMs), 'timeoutMs must be a positive number below 2^31.')
    const onAnswer: Resolve = (answer) => {
      signal?.removeEventListener('abort', abort)
      resolve(answer)
    }
    const abort = (): void => {
      reject(signal?.reason)
      query.end('UNREACHABLE')
    }
    const terms = { encoded, route, timeoutMs, waitingRoom }
    const query = new Query({ ...terms, onAnswer, onLocalFailure: reject })
    signal?.addEventListener('abort', abort, { once: true })
  }

  return {
    query: (question) =>
      new Promise((resolve, reject) => {
        // Anything thrown here rejects the promise.
        demandQuestion(question)
        if (closed) resolve({ ...unanswered, transport: transport.name })
        else ask(question, resolve, reject)
      }),
    async close() {
      closed = true
      for (const query of waitingRoom.everyone()) query.end('UNREACHABLE')
      transport.close()
    },
  }
}

/** What was asked last, as it was written. */
type Latest = { readonly encoded: EncodedQuery } & {
  readonly [Member in 'name' | 'clientSubnet' | 'recursionDesired' | 'checkingDisabled']: DnsQuestion[Member]
}
type Resolve = (answer: DnsAnswer) => void
type Reject = (reason: unknown) => void

const unanswered = { status: 'UNREACHABLE', records: [], cnameChain: [], latencyMs: 0 } as const

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
    'question must be an object: write query({ name, type, server: { ip } }).',
  )
  demandKnown(question, members)
  demand(typeof question.name === 'string', 'name must be a string.')
  demand(typeof question.server === 'object', 'server must be an object: write { server: { ip } }.')
  demand(typeof question.server?.ip === 'string', 'server.ip must be an IPv4 or IPv6 address.')
  const { clientSubnet, recursionDesired, checkingDisabled, transport } = question
  demand(clientSubnet === undefined || typeof clientSubnet === 'string', 'clientSubnet must be a string.')
  demand([undefined, true, false].includes(recursionDesired), 'recursionDesired must be true or false.')
  demand([undefined, true, false].includes(checkingDisabled), 'checkingDisabled must be true or false.')
  demand([undefined, 'udp', 'tcp'].includes(transport), "transport must be 'udp' or 'tcp'.")
  demand(isSignal(question.signal), 'signal must be an AbortSignal.')
}

/** Returns a server with its port. Throws if it has no address. */
export function checkedServer({ ip, port = 53 }: DnsQuestion['server']): ServerAddress {
  demand(isDnsServerAddress(ip), 'server.ip must be an IPv4 or IPv6 address.')
  demand(isPort(port), 'server.port must be a port number.')
  return { ip, port }
}
