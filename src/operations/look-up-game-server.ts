import { z } from 'zod'
import { UtilityApiError } from '../domain/errors.ts'
import { parseServerAddress } from '../domain/server-address.ts'
import { ServerCheckError, type ServerStatus } from '../domain/server-status.ts'
import type { BlockgameClient } from '../ports/blockgame-client.ts'
import type { Clock } from '../ports/clock.ts'
import { requiredText } from './fields.ts'
import { createLimiter } from './limiter.ts'
import type { Operation } from './operation.ts'
import { createSharedWork } from './shared-work.ts'
import { trace } from './tracing.ts'

export interface LookUpGameServerParts {
  readonly client: BlockgameClient
  readonly clock: Clock
  readonly timeoutMs: number
  readonly cacheTtlMs: number
  readonly maxConcurrent: number
  readonly requiredPermission: string
}

export interface LookUpGameServerInput {
  address: string
  port?: string | undefined
}

export interface LookUpGameServerOutput {
  ip: string
  port: string
  players: { online: number; max: number }
  version: { name: string; protocol: number }
  ping: string
  srvRecord: { host?: string | undefined; port?: number | undefined }
}

/**
 * Asks a block-game server for its status.
 *
 * @see spec section 4.5
 */
export function lookUpGameServer(
  parts: LookUpGameServerParts,
): Operation<LookUpGameServerInput, LookUpGameServerOutput> {
  const { client, clock, timeoutMs } = parts
  const limiter = createLimiter(parts.maxConcurrent)
  const lookups = createSharedWork<LookUpGameServerOutput>({ clock, lifetimeMs: () => parts.cacheTtlMs })

  async function lookUp(host: string, port: number, signal: AbortSignal): Promise<LookUpGameServerOutput> {
    const started = performance.now()
    const deadline = AbortSignal.timeout(timeoutMs)
    const ask = (): Promise<ServerStatus> => {
      const remainingMs = Math.max(1, Math.floor(timeoutMs - (performance.now() - started)))
      return trace(
        'blockgame',
        () => ({}),
        () => client.status({ host, port, timeoutMs: remainingMs, signal }),
      )
    }
    try {
      return outputOf(await limiter.run(ask, AbortSignal.any([signal, deadline])))
    } catch (error) {
      if (error === deadline.reason) {
        throw new UtilityApiError('unavailable', 'Too many lookups are under way.', { retryAfterSeconds: 1 })
      }
      if (error instanceof UtilityApiError || signal.aborted) throw error
      throw new ServerCheckError('protocol', { cause: error })
    }
  }

  return {
    id: 'lookUpGameServer',
    method: 'GET',
    path: '/v4/games/blockgame/lookup',
    summary: 'Look up a block-game server',
    security: { kind: 'api_key', permission: parts.requiredPermission },
    waitsFor: 'network',
    parameters: {
      address: { in: 'header', name: 'X-Address', description: 'Domain or IP address of the server.' },
      port: { in: 'header', name: 'X-Port', description: 'Port of the server. Default: 25565.' },
    },
    input: z.object({ address: requiredText(), port: requiredText().optional() }),
    output: z.object({
      ip: z.string().describe('IP address connected to.'),
      port: z.string().describe('Port connected to.'),
      players: z.object({
        online: z.int().describe('Players online.'),
        max: z.int().describe('Maximum number of players.'),
      }),
      version: z.object({
        name: z.string().describe('Version name.'),
        protocol: z.int().describe('Protocol version number, -1 when unknown.'),
      }),
      ping: z
        .string()
        .regex(/^\d+ms$/)
        .describe('Latency in milliseconds, with its unit.'),
      srvRecord: z
        .object({ host: z.string().optional(), port: z.int().optional() })
        .describe('The SRV record followed; an empty object without one.'),
    }),

    async run(input, { signal }) {
      const target = parseServerAddress(input.address, input.port)
      if (target === null) {
        throw new UtilityApiError(
          'invalid_request',
          'X-Address must be a host name or an IP address, X-Port a port.',
        )
      }
      const { host, port } = target
      return lookups.get(`${host} ${port}`, signal, (shared) => lookUp(host, port, shared))
    },
  }
}

function outputOf(status: ServerStatus): LookUpGameServerOutput {
  const { ip, port, players, version, latencyMs, srvRecord } = status
  return {
    ip,
    port: String(port),
    players: { online: players.online, max: players.max },
    version: { name: version.name, protocol: version.protocol },
    ping: `${Math.round(latencyMs)}ms`,
    srvRecord: srvRecord === null ? {} : { host: srvRecord.host, port: srvRecord.port },
  }
}
