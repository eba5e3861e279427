import type { ServerStatus } from '../domain/server-status.ts'
import { encodeStatusRequest } from './codec/requests.ts'
import { connectToFirst } from './connect-to-first.ts'
import type { DeadlineScope } from './deadline-scope.ts'
import type { RequestedTarget } from './address-filter.ts'
import { sendLegacyPing } from './legacy-ping.ts'
import { OldServerError, requestStatus, type ServerReply } from './modern-ping.ts'
import type { Endpoint } from './resolve.ts'

const silenceShare = 0.4
const longestPongMs = 1000
// Ends before the deadline, which would discard the status along with the pong.
const pongShare = 0.9

/** Connects to one of these endpoints and fetches its status, with the current protocol or an older one. */
export async function fetchStatus(
  scope: DeadlineScope,
  endpoints: readonly Endpoint[],
  target: RequestedTarget,
  protocolVersion: number,
): Promise<ServerStatus> {
  const { connection, endpoint } = await connectToFirst(scope, endpoints)
  const request = encodeStatusRequest({ ...target, protocolVersion })
  const { status, latencyMs } = await modernOrLegacy(
    (onSilence) =>
      requestStatus(connection, request, {
        silenceMs: scope.timeLeftMs() * silenceShare,
        onSilence,
        pongMs: () => Math.min(longestPongMs, scope.timeLeftMs() * pongShare),
      }),
    () => sendLegacyPing(scope, endpoint, target),
  )
  return { ip: endpoint.ip, port: endpoint.port, latencyMs, srvRecord: endpoint.srvRecord, ...status }
}

/** Returns the modern reply, or that of a legacy ping if the server stays silent or fails like an old one. */
function modernOrLegacy(
  modern: (onSilence: () => void) => Promise<ServerReply>,
  legacy: () => Promise<ServerReply>,
): Promise<ServerReply> {
  return new Promise((resolve, reject) => {
    let old: Promise<ServerReply> | undefined
    const tryLegacy = (onFailure: () => void): void => {
      old ??= legacy()
      old.then(resolve, onFailure)
    }
    modern(() => tryLegacy(() => {})).then(resolve, (error: Error) => {
      if (old || error instanceof OldServerError) tryLegacy(() => reject(error))
      else reject(error)
    })
  })
}
