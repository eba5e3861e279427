import type { ServerStatus } from '../domain/server-status.ts'
import { Candidates, type Destination } from './candidates.ts'
import { encodeStatusRequest } from './codec/requests.ts'
import { connectToFirst, type Connected } from './connect-to-first.ts'
import type { DeadlineScope } from './deadline-scope.ts'
import type { Introduction } from './introduction.ts'
import { sendLegacyPing } from './legacy-ping.ts'
import {
  KickedError,
  requestStatus,
  UnansweredError,
  type RequestHooks,
  type ServerReply,
} from './modern-ping.ts'
import { withProxyHeader } from './proxy-header.ts'

const silenceShare = 0.4
const longestPongMs = 1000
// Ends before the deadline, which would discard the status along with the pong.
const pongShare = 0.9
// Once a server has hung up: another modern try, and the legacy ping.
const keptConnections = 2

/** A lookup once its target is known. */
export interface StatusLookup {
  readonly scope: DeadlineScope
  readonly candidates: Candidates
  readonly introduction: Introduction
}

/** A destination that ended its connection without a byte. */
interface Unanswered {
  readonly destination: Destination
  readonly error: UnansweredError
}

/**
 * Fetches the status of one candidate, with the current protocol or an older one.
 *
 * If a server ends the connection without a byte, the next candidate is asked. If there is none, the first that hung up
 * is asked once more, because it may have been starting, and after that with a legacy ping.
 */
export async function fetchStatus(lookup: StatusLookup, before?: Unanswered): Promise<ServerStatus> {
  let connected: Connected
  try {
    connected = await connectToFirst(lookup.scope, lookup.candidates, before && keptConnections)
  } catch (error) {
    if (before === undefined) throw error
    return askAgain(lookup, before)
  }
  try {
    return await ask(lookup, connected)
  } catch (error) {
    if (!(error instanceof UnansweredError)) throw error
    const hungUpBefore = before?.error.reason === 'closed'
    return fetchStatus(lookup, hungUpBefore ? before : { destination: connected.destination, error })
  }
}

async function askAgain(lookup: StatusLookup, { destination, error }: Unanswered): Promise<ServerStatus> {
  const { scope, introduction } = lookup
  if (error.reason !== 'closed') throw error
  try {
    return await ask(lookup, await connectToFirst(scope, Candidates.of([destination])))
  } catch (failure) {
    if (!(failure instanceof UnansweredError)) throw failure
  }
  const reply = await sendLegacyPing(scope, destination, introduction).catch(() => {
    throw error
  })
  return statusOf(destination, reply)
}

/** Asks the server at the other end, and with a legacy ping as well if it stays silent or answers like an old one. */
async function ask(lookup: StatusLookup, { connection, destination }: Connected): Promise<ServerStatus> {
  const { scope, introduction } = lookup
  const { proxyProtocol, raw } = introduction
  const request = withProxyHeader(encodeStatusRequest(introduction), connection, proxyProtocol)
  const reply = await modernOrLegacy(
    scope,
    (hooks) =>
      requestStatus(connection, request, {
        silenceMs: scope.timeLeftMs() * silenceShare,
        pongMs: () => Math.min(longestPongMs, scope.timeLeftMs() * pongShare),
        raw,
        ...hooks,
      }),
    () => sendLegacyPing(scope, destination, introduction),
  )
  return statusOf(destination, reply)
}

function statusOf({ ip, port, srvRecord }: Destination, { status, latencyMs }: ServerReply): ServerStatus {
  return { ip, port, latencyMs, srvRecord, ...status }
}

/**
 * Returns the modern reply, or that of a legacy ping if the modern connection has ended like that of an old server, or
 * if the deadline is near: a server that is only slow would show an old version.
 */
function modernOrLegacy(
  scope: DeadlineScope,
  modern: (hooks: RequestHooks) => Promise<ServerReply>,
  legacy: () => Promise<ServerReply>,
): Promise<ServerReply> {
  return new Promise((resolve, reject) => {
    let old: Promise<ServerReply> | undefined
    let isModern = false
    const resolveWhenNear = (reply: ServerReply): void => {
      scope.after(scope.untilNearMs(), () => {
        if (!isModern) resolve(reply)
      })
    }
    const onSilence = (): void => {
      old = legacy()
      old.then(resolveWhenNear, () => {})
    }
    const onStatus = (): void => {
      isModern = true
    }
    modern({ onSilence, onStatus }).then(resolve, (error: Error) => {
      if (error instanceof KickedError) old ??= legacy()
      if (old === undefined) reject(error)
      else old.then(resolve, () => reject(error))
    })
  })
}
