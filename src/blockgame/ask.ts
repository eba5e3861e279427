import type { ServerStatus } from '../domain/server-status.ts'
import { connectToFirst } from './connect.ts'
import { exchangeStatus, OldServerError, type ServerReply } from './exchange.ts'
import type { Typed } from './guard.ts'
import { exchangeLegacy } from './legacy-exchange.ts'
import type { Lookup } from './lookup.ts'
import { encodeStatusRequest } from './requests.ts'
import type { Endpoint } from './resolve.ts'

const silenceShare = 0.4
const longestPongMs = 1000
// Short of the deadline, which would throw the status away with the pong.
const pongShare = 0.9

/** Connects to one of these endpoints and asks it, in the protocol of today or an older one. */
export async function askServer(
  lookup: Lookup,
  endpoints: readonly Endpoint[],
  typed: Typed,
  protocolVersion: number,
): Promise<ServerStatus> {
  const { connection, endpoint } = await connectToFirst(lookup, endpoints)
  const request = encodeStatusRequest({ ...typed, protocolVersion })
  const { status, latencyMs } = await askAnyEra(
    (onSilence) =>
      exchangeStatus(connection, request, {
        silenceMs: lookup.timeLeftMs() * silenceShare,
        onSilence,
        pongMs: () => Math.min(longestPongMs, lookup.timeLeftMs() * pongShare),
      }),
    () => exchangeLegacy(lookup, endpoint, typed),
  )
  return { ip: endpoint.ip, port: endpoint.port, latencyMs, srvRecord: endpoint.srvRecord, ...status }
}

/** The modern reply, or that of a legacy ping where the modern exchange stays silent or fails as old servers make it. */
function askAnyEra(
  modern: (onSilence: () => void) => Promise<ServerReply>,
  legacy: () => Promise<ServerReply>,
): Promise<ServerReply> {
  return new Promise((resolve, reject) => {
    let old: Promise<ServerReply> | undefined
    const askLegacy = (onFailure: () => void): void => {
      old ??= legacy()
      old.then(resolve, onFailure)
    }
    modern(() => askLegacy(() => {})).then(resolve, (error: Error) => {
      if (old || error instanceof OldServerError) askLegacy(() => reject(error))
      else reject(error)
    })
  })
}
