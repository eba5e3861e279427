// Asks many servers again and again, politely: few at once, and no server more often than the interval says.
import { setTimeout as delay } from 'node:timers/promises'
import {
  ServerCheckError,
  type BlockgameClient,
  type ServerStatus,
  type TextSpan,
} from 'utility-api/blockgame'

/** What the page shows of a server. */
export interface Listed {
  readonly address: string
  /** `unknown` until a first check has ended and while its failure is being confirmed; `refused`: it cannot be asked. */
  readonly state: 'online' | 'offline' | 'refused' | 'unknown'
  readonly players?: ServerStatus['players']
  readonly version?: string
  readonly pingMs?: number
  readonly description?: readonly TextSpan[]
  readonly favicon?: string
}

export interface WatcherOptions {
  readonly client: Pick<BlockgameClient, 'status'>
  /** `host` or `host:port`; an IPv6 address in brackets. */
  readonly addresses: readonly string[]
  /**
   * How many servers are asked at once. More would crowd your own line, and the pings would measure that. Default: 25, or a
   * 25th of a longer list, which is then asked within a minute even if a tenth of it hangs.
   */
  readonly atOnce?: number
  /** How long to wait before a failed check is repeated. Only the second failure in a row means "offline". */
  readonly confirmAfterMs?: number
}

/** Returns the list as it is now, and what asks all servers once. */
export function createWatcher({
  client,
  addresses,
  atOnce = Math.max(25, addresses.length / 25),
  confirmAfterMs = 2000,
}: WatcherOptions) {
  const listed = new Map(
    addresses.map((address): [string, Listed] => [address, { address, state: 'unknown' }]),
  )

  async function check(address: string, signal: AbortSignal): Promise<void> {
    const first = await ask(client, address, signal)
    if (first !== null) return void listed.set(address, first)
    // A restart, a lost packet: say nothing yet, and keep what was known.
    await delay(confirmAfterMs, undefined, { signal })
    listed.set(address, (await ask(client, address, signal)) ?? { address, state: 'offline' })
  }

  return {
    list: (): Listed[] => [...listed.values()],
    async refresh(signal: AbortSignal): Promise<void> {
      const left = [...addresses]
      const work = async (): Promise<void> => {
        for (let next = left.shift(); next !== undefined; next = left.shift()) await check(next, signal)
      }
      await Promise.all(Array.from({ length: atOnce }, work))
    },
  }
}

async function ask(
  client: Pick<BlockgameClient, 'status'>,
  address: string,
  signal: AbortSignal,
): Promise<Listed | null> {
  const {
    1: v6,
    2: host = v6 ?? address,
    3: port = '25565',
  } = /^(?:\[(.+)\]|([^:]+))(?::(\d+))?$/.exec(address) ?? []
  try {
    const status = await client.status({ host, port: Number(port), signal })
    return {
      address,
      state: 'online',
      players: status.players,
      version: status.version.name,
      pingMs: Math.round(status.latencyMs),
      description: status.descriptionSpans ?? [{ text: status.description }],
      ...(status.favicon === undefined ? {} : { favicon: status.favicon }),
    }
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof ServerCheckError) return null
    // Not the server's fault: an address that is not allowed, for one.
    const { message, cause } = error as Error
    console.error(`${address} was not asked. ${message}`, cause ?? '')
    return { address, state: 'refused' }
  }
}
