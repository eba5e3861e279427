import * as z from 'zod'
import { refusal, refused, UtilityApiError } from '../domain/errors.ts'
import { longestAddress, parseServerAddress, serverPort, spelledHostOf } from '../domain/server-address.ts'
import {
  addressNotAllowed,
  ServerCheckError,
  serverCheckFailed,
  type ServerStatus,
} from '../domain/server-status.ts'
import { channels, trace } from '../ports/diagnostics.ts'
import type { Logger } from '../ports/logger.ts'
import type { TimedBlockgameClient } from '../bounds/timed-clients.ts'
import { performance } from '../ports/timers.ts'
import { detailSchemas, detailsOf, exampleDetails, type GameServerDetails } from './game-server-details.ts'
import { patterns, requiredText } from './input-schemas.ts'
import type { Operation } from './operation.ts'
import { inNoContext } from '../bounds/no-context.ts'
import { keptFor, type ResultCache } from '../bounds/result-cache.ts'
import { createSemaphore, NoTurnError } from '../bounds/semaphore.ts'
import { jsonBody, SharedAnswer } from '../bounds/shared-answer.ts'
import { createSingleFlight, type Flight } from '../bounds/single-flight.ts'

export interface LookUpGameServerParts {
  readonly client: TimedBlockgameClient
  readonly logger: Logger
  readonly timeoutMs: number
  readonly cacheTtlMs: number
  readonly cache: ResultCache<SharedAnswer<GameServerLookup>>
  readonly maxConcurrent: number
  readonly requiredPermission: string
  /** Whether the answer has the details as well. Default: false. */
  readonly details?: boolean
}

export interface LookUpGameServerInput {
  address: string
  port?: string | undefined
}

/**
 * The answer of a game server lookup, with the member names of the JSON.
 *
 * @see docs/contract.md section 2.4
 *
 * @group Minecraft
 */
export interface GameServerLookup extends GameServerDetails {
  /** The IP address connected to. */
  ip: string
  /** The port connected to, as text. */
  port: string
  /** How many players are online, and how many may be. */
  players: { online: number; max: number }
  /** The version's name, and its protocol number: -1 if unknown. */
  version: { name: string; protocol: number }
  /** The latency in milliseconds, with its unit: `23ms`. */
  ping: string
  /** The SRV record that was followed; an empty object if there is none. */
  srvRecord: { host?: string | undefined; port?: number | undefined }
}

const notAServer = refusal(
  'invalid_request',
  'X-Address must be host, host:port or [IPv6]:port, not a URL, and X-Port a port.',
)
const tooMany = refusal('unavailable', 'Too many lookups are under way.')

const output = () =>
  z.object({
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
      .object({
        host: z.string().optional().describe('Name that the record leads to.'),
        port: z.int().optional().describe('Port that the record leads to.'),
      })
      .describe('The SRV record that was followed; an empty object if there is none.'),
  })

const example: GameServerLookup = {
  ip: '203.0.113.25',
  port: '25566',
  players: { online: 12, max: 100 },
  version: { name: '1.21.4', protocol: 769 },
  ping: '23ms',
  srvRecord: { host: 'mc.example.com', port: 25566 },
}

/**
 * Asks a Minecraft server for its status.
 *
 * @see docs/contract.md section 4.5
 */
export function lookUpGameServer(
  parts: LookUpGameServerParts,
): Operation<LookUpGameServerInput, GameServerLookup, unknown> {
  const { client, logger, timeoutMs, cache, details = false } = parts
  const semaphore = createSemaphore(parts.maxConcurrent)
  const lookups = createSingleFlight<SharedAnswer<GameServerLookup>>()

  async function lookUp(
    host: string,
    port: number,
    { callers, signal, inFirst }: Flight,
  ): Promise<GameServerLookup> {
    const started = performance.now()
    const ping = (): Promise<ServerStatus> => {
      const remainingMs = Math.max(1, Math.floor(timeoutMs - (performance.now() - started)))
      return client.status({ host, port, timeoutMs: remainingMs, signal })
    }
    const observedPing = (): Promise<ServerStatus> =>
      channels.blockgame.hasSubscribers
        ? inFirst(() => trace(channels.blockgame, {}, () => inNoContext(ping)))
        : ping()
    try {
      const status = await semaphore.run(observedPing, { callers, signal, maxWaitMs: timeoutMs / 2 })
      return details ? { ...outputOf(status), ...detailsOf(status) } : outputOf(status)
    } catch (error) {
      if (error instanceof NoTurnError) throw refused(tooMany, { retryAfterSeconds: 1 })
      if (error instanceof ServerCheckError && error.reason === 'local')
        logger.error('The lookup failed on this machine.', { cause: error.cause })
      if (error instanceof UtilityApiError || signal.aborted) throw error
      // A client fails with one of these. This is a mistake of the host's client, or of its rule for addresses.
      logger.warn('The block-game client failed.', { cause: error })
      throw new ServerCheckError('protocol', { cause: error })
    }
  }

  return {
    id: 'lookUpGameServer',
    method: 'GET',
    path: '/v4/games/blockgame/lookup',
    summary: 'Look up a Minecraft server',
    description:
      'Asks a Minecraft server for what players see in their server list. The header that carries the API key is called `Basic`.',
    tag: { name: 'Games', description: 'Who plays on a server, and how far away it is.' },
    permission: parts.requiredPermission,
    waitsFor: 'network',
    parameters: {
      address: {
        in: 'header',
        name: 'X-Address',
        description: 'Domain or IP address of the server.',
        example: 'play.example.com',
      },
      port: {
        in: 'header',
        name: 'X-Port',
        description: 'Port of the server. Default: 25565.',
        example: '25565',
      },
    },
    input: z.object({
      address: requiredText().meta({ maxLength: longestAddress, pattern: patterns.hostAndPort }),
      port: requiredText().meta({ pattern: serverPort.source }).optional(),
    }),
    output: () => (details ? output().extend(detailSchemas()) : output()),
    example: details ? { ...example, ...exampleDetails } : example,
    refusals: [notAServer, addressNotAllowed, serverCheckFailed, tooMany],

    async run(input, _, { callerKey, signal }) {
      const target = parseServerAddress(input.address, input.port)
      if (target === null) throw refused(notAServer)
      const { host, port } = target
      // Without the case of letters, which only the handshake keeps.
      const key = `${host} ${port}`
      const work = async (flight: Flight): Promise<SharedAnswer<GameServerLookup>> => {
        const answer = new SharedAnswer<GameServerLookup>(
          jsonBody(JSON.stringify(await lookUp(spelledHostOf(input.address), port, flight))),
        )
        for (const caller of flight.callers.keys()) cache.set(keptFor(caller, key), answer, parts.cacheTtlMs)
        return answer
      }
      return cache.get(keptFor(callerKey, key)) ?? lookups.join(key, callerKey, { signal, timeoutMs }, work)
    },
  }
}

function outputOf(status: ServerStatus): GameServerLookup {
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
