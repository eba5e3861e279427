import { ServerCheckError, type ServerStatus } from '../domain/server-status.ts'
import { Candidates, type Destination } from './candidates.ts'
import { encodeStatusRequest } from './codec/requests.ts'
import { connectToFirst, type Connected } from './connect-to-first.ts'
import type { Connection } from './connection.ts'
import type { DeadlineScope } from './deadline-scope.ts'
import type { Introduction } from './checked-target.ts'
import { sendLegacyPing } from './legacy-ping.ts'
import {
  KickedError,
  requestStatus,
  UnansweredError,
  type RequestHooks,
  type RequestSegments,
  type ServerReply,
} from './modern-ping.ts'
import { withProxyHeader } from './proxy-header.ts'

const silenceShare = 0.4
const longestPongMs = 1000
// Ends before the deadline, which would discard the status along with the pong.
const pongShare = 0.9
// Once a server has hung up: another modern try, and the legacy ping.
const keptConnections = 2
/** Before the other modern try: a server that starts may be up then. */
const pauseMs = 500
const pauseShare = 0.25
/** The status request, behind the handshake. */
const requestSize = 2

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
 * is asked once more, after a pause, because it may have been starting or not know the protocol number, and after that
 * with a legacy ping.
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
  await scope.pause(Math.min(pauseMs, scope.timeLeftMs() * pauseShare))
  const legacy = (): Promise<ServerReply> => sendLegacyPing(scope, destination, introduction)
  try {
    const again = (hooks: RequestHooks): Promise<ServerReply> => requestAgain(lookup, destination, hooks)
    return statusOf(destination, await modernOrLegacy(scope, again, { legacy }))
  } catch (failure) {
    if (!(failure instanceof UnansweredError)) throw failure
  }
  const reply = await legacy().catch((failure) => {
    throw localOr(error, failure)
  })
  return statusOf(destination, reply)
}

/**
 * Asks the server at the other end. If it stays silent, it is asked a second time beside that, and with a legacy ping,
 * which also follows if it answers like an old one.
 */
async function ask(lookup: StatusLookup, { connection, destination }: Connected): Promise<ServerStatus> {
  const { scope, introduction } = lookup
  const request = [encodeStatusRequest(introduction)] as const
  const reply = await modernOrLegacy(scope, (hooks) => requestOver(lookup, connection, request, hooks), {
    again: (hooks) => requestAgain(lookup, destination, hooks),
    legacy: () => sendLegacyPing(scope, destination, introduction),
  })
  return statusOf(destination, reply)
}

/**
 * Asks a second time, over another connection: with a protocol number that servers know, and with the request in a segment
 * of its own, as some read only one packet of a segment.
 */
async function requestAgain(
  lookup: StatusLookup,
  destination: Destination,
  hooks: RequestHooks,
): Promise<ServerReply> {
  const { scope, introduction } = lookup
  const { connection } = await connectToFirst(scope, Candidates.of([destination]))
  const protocolVersion = introduction.fallbackProtocolVersion
  const bytes = encodeStatusRequest({ ...introduction, protocolVersion })
  const request = [bytes.subarray(0, -requestSize), bytes.subarray(-requestSize)] as const
  return requestOver(lookup, connection, request, hooks)
}

function requestOver(
  { scope, introduction: { proxyProtocol, raw } }: StatusLookup,
  connection: Connection,
  [first, second]: RequestSegments,
  hooks: RequestHooks,
): Promise<ServerReply> {
  return requestStatus(connection, [withProxyHeader(first, connection, proxyProtocol), second], {
    silenceMs: scope.timeLeftMs() * silenceShare,
    pongMs: () => Math.min(longestPongMs, scope.timeLeftMs() * pongShare),
    raw,
    ...hooks,
  })
}

function statusOf({ ip, port, srvRecord }: Destination, { status, latencyMs }: ServerReply): ServerStatus {
  return { ip, port, latencyMs, srvRecord, ...status }
}

/** What this machine lacks says more than what a server did before. */
function localOr(error: Error, failure: unknown): Error {
  return failure instanceof ServerCheckError && failure.reason === 'local' ? failure : error
}

/** The tries that follow a modern one. */
interface OtherTries {
  /** Another modern one, if there may be one. */
  readonly again?: (hooks: RequestHooks) => Promise<ServerReply>
  readonly legacy: () => Promise<ServerReply>
}

/**
 * Returns the modern reply, or that of a legacy ping if the modern connections have ended like those of an old server,
 * or if the deadline is near, because a server that is only slow would show an old version.
 */
function modernOrLegacy(
  scope: DeadlineScope,
  modern: (hooks: RequestHooks) => Promise<ServerReply>,
  { again, legacy }: OtherTries,
): Promise<ServerReply> {
  return new Promise((resolve, reject) => {
    let second: Promise<ServerReply> | undefined
    let old: Promise<ServerReply> | undefined
    let isModern = false
    const resolveWhenNear = (reply: ServerReply): void => {
      scope.after(scope.untilNearMs(), () => {
        if (!isModern) resolve(reply)
      })
    }
    const onStatus = (): void => {
      isModern = true
    }
    const onSilence = (): void => {
      old = legacy()
      old.then(resolveWhenNear, ignore)
      second = again?.({ onSilence: ignore, onStatus })
      second?.then(resolve, ignore)
    }
    modern({ onSilence, onStatus }).then(resolve, (error: Error) => {
      if (error instanceof KickedError) old ??= legacy()
      if (old === undefined) return reject(error)
      old.then(resolve, async (failure) => {
        await second?.catch(ignore)
        reject(localOr(error, failure))
      })
    })
  })
}

function ignore(): void {}
