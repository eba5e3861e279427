import { isLongAnswer, limitAnswer } from '../domain/dns-answer-limit.ts'
import type { DnsAnswer } from '../domain/dns-answer.ts'
import { ServerCheckError, type ServerStatus } from '../domain/server-status.ts'
import type { BlockgameClient, BlockgameTarget } from '../ports/blockgame-client.ts'
import type { DnsClient, DnsQuestion } from '../ports/dns-client.ts'
import { inTime } from './in-time.ts'
import { ownTurn } from './one-a-turn.ts'

/** What ends a call of a network client. An operation always sets both. */
interface Terms {
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** A DNS client as its operation calls it. Every query ends in its time, and every answer is within the limit. */
export interface TimedDnsClient {
  query(question: DnsQuestion & Terms): Promise<DnsAnswer>
  /** Absent if the host is responsible for closing it. */
  close?(): Promise<void>
}

/** A block-game client as its operation calls it. Every lookup ends in its time. */
export interface TimedBlockgameClient {
  status(target: BlockgameTarget & Terms): Promise<ServerStatus>
  /** Absent if the host is responsible for closing it. */
  close?(): Promise<void>
}

const notSettled = 'The client did not settle within its timeoutMs.'
const lateQuery = (): Error => new DOMException(notSettled, 'TimeoutError')
const lateLookup = (): Error => new ServerCheckError('timeout', { cause: new Error(notSettled) })

/**
 * Wraps a host's DNS client. A query that did not end would hold its place among the open questions, and keep its
 * caller waiting, until the service closes. Our own client measures an answer while it reads it, and needs no wrapper.
 */
export function timedDnsClient(client: DnsClient): TimedDnsClient {
  return {
    async query(question) {
      const answer = await ended(question, (own) => client.query(own), lateQuery)
      if (isLongAnswer(answer)) await ownTurn(question.signal)
      return limitAnswer(answer)
    },
  }
}

/** Wraps a host's block-game client, for the same reason. */
export function timedBlockgameClient(client: BlockgameClient): TimedBlockgameClient {
  return { status: (target) => ended(target, (own) => client.status(own), lateLookup) }
}

/** Ends a call at its deadline, and tells the client so by the signal that it gets. */
function ended<Call extends Terms, Answer>(
  call: Call,
  work: (own: Call) => Promise<Answer>,
  late: () => Error,
): Promise<Answer> {
  const deadline = new AbortController()
  const signal = AbortSignal.any([call.signal, deadline.signal])
  return inTime(
    call.timeoutMs,
    () => work({ ...call, signal }),
    () => {
      deadline.abort()
      return late()
    },
  )
}
