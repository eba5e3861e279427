import { ServerCheckError } from '../domain/server-status.ts'
import type { BlockgameClient } from './blockgame-client.ts'
import type { DnsClient } from './dns-client.ts'

const notSettled = 'The client did not settle within its timeoutMs.'

/**
 * Wraps a host's DNS client so that every query ends in its time. One that did not would hold a place among the open
 * questions, and its caller, until the service closes.
 */
export function timedDnsClient(client: DnsClient): DnsClient {
  return {
    query: (question) =>
      inTime(
        question,
        (own) => client.query(own),
        () => new DOMException(notSettled, 'TimeoutError'),
      ),
    close: () => client.close(),
  }
}

/** Wraps a host's block-game client so that every lookup ends in its time, for the same reason. */
export function timedBlockgameClient(client: BlockgameClient): BlockgameClient {
  return {
    status: (target) =>
      inTime(
        target,
        (own) => client.status(own),
        () => new ServerCheckError('timeout', { cause: new Error(notSettled) }),
      ),
    close: () => client.close(),
  }
}

/** What ends a call of a network client. */
interface Terms {
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}

/** Rejects with `late()` if the work is not done in its time, and aborts the work's own signal then. */
async function inTime<Call extends Terms, Answer>(
  call: Call,
  work: (own: Call) => Promise<Answer>,
  late: () => Error,
): Promise<Answer> {
  const { timeoutMs = 5000, signal } = call
  const deadline = new AbortController()
  const own = signal === undefined ? deadline.signal : AbortSignal.any([signal, deadline.signal])
  const result = Promise.withResolvers<Answer>()
  // Started first, so that a timer of the client's own for the same time ends before ours does.
  Promise.resolve(work({ ...call, signal: own })).then(result.resolve, result.reject)
  const timer = setTimeout(() => {
    result.reject(late())
    deadline.abort()
  }, timeoutMs)
  try {
    return await result.promise
  } finally {
    clearTimeout(timer)
  }
}
