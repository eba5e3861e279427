import { clearTimeout, performance, setTimeout } from '../ports/timers.ts'
import { Candidates, type Destination } from './candidates.ts'
import {
  encodeLegacyPingHost,
  legacyPing,
  legacyReplySize,
  longestLegacyReply,
  parseLegacyReply,
} from './codec/legacy.ts'
import { connectionFailure, connectToFirst } from './connect-to-first.ts'
import type { DeadlineScope } from './deadline-scope.ts'
import type { Introduction } from './checked-target.ts'
import type { ServerReply } from './modern-ping.ts'
import { withProxyHeader } from './proxy-header.ts'

// Betas and 1.4 answer two bytes immediately, and betas fail on more. 1.6 waits for the rest, for 1.5 s at most.
const restDelayMs = 250

/** Sends a legacy ping, which servers older than 1.7 answer, on a new connection. */
export async function sendLegacyPing(
  scope: DeadlineScope,
  destination: Destination,
  { host, port, proxyProtocol, raw }: Introduction,
): Promise<ServerReply> {
  const { connection, connectMs } = await connectToFirst(scope, Candidates.of([destination]))
  return new Promise((resolve, reject) => {
    const received = Buffer.allocUnsafe(longestLegacyReply)
    let size = 0
    let sentAt = performance.now()
    let firstSentAt = sentAt

    const rest = setTimeout(() => {
      connection.write(encodeLegacyPingHost(host, port), () => {
        sentAt = performance.now()
      })
    }, restDelayMs)
    const finish = (settle: () => void): void => {
      clearTimeout(rest)
      connection.close()
      settle()
    }
    // A reply to the first two bytes comes earlier after the rest than a round trip, by the delay of the rest.
    const latency = (receivedAt: number): number =>
      receivedAt - (receivedAt - sentAt < connectMs - restDelayMs / 2 ? firstSentAt : sentAt)

    connection.tell({
      received(bytes) {
        const receivedAt = performance.now()
        clearTimeout(rest)
        const taken = bytes.subarray(0, received.length - size)
        received.set(taken, size)
        size += taken.length
        try {
          const needed = legacyReplySize(received.subarray(0, size))
          if (needed === null || size < needed) return
          const status = parseLegacyReply(received.subarray(0, size), { raw })
          finish(() => resolve({ status, latencyMs: latency(receivedAt) }))
        } catch (error) {
          finish(() => reject(error as Error))
        }
      },
      closed: (error) => finish(() => reject(connectionFailure(error, 'closed'))),
    })
    connection.write(withProxyHeader(legacyPing, connection, proxyProtocol), () => {
      firstSentAt = sentAt = performance.now()
    })
  })
}
