import { invalidOption, isTimeout, requireOptions } from '../domain/arguments.ts'
import type { DnsClient, DnsQuestion } from '../ports/dns-client.ts'
import { clearInterval, performance, setInterval } from '../ports/timers.ts'
import { checkedServer, clientOver } from './client-over.ts'
import type { Stream } from './transport-types.ts'
import { sendOverTcp } from './tcp.ts'
import { UdpPool } from './udp-sockets.ts'

/**
 * Options of {@link createDnsClient}.
 *
 * @group DNS
 */
export interface DnsClientOptions {
  /** Deadline of a query that does not set its own, in milliseconds. Default: 5000. */
  readonly timeoutMs?: number
}

/** The age at which the next sweep retires a socket, so that no port is known for long and an idle client holds none. */
const maxSocketAgeMs = 10_000

/**
 * Creates a client that asks resolvers over UDP, and over TCP if an answer does not fit in a datagram.
 *
 * Sockets open when a query needs them, close when they are ten to fifteen seconds old, and never keep the process
 * alive. Every question is sent, even if an equal one is under way. A program that takes names from strangers shares
 * equal ones, as `api.checkDns` does, because with many alike under way, a forged answer is right for one of them
 * sooner.
 *
 * @example
 * ```ts
 * import { createDnsClient } from 'utility-api/dns'
 *
 * const client = createDnsClient()
 * const answer = await client.query({ name: 'example.com', type: 'MX', server: { ip: '9.9.9.10' } })
 * if (answer.status === 'NOERROR') console.log(answer.records)
 * await client.close()
 * ```
 *
 * @throws `UtilityApiError` `invalid_options` if an option is invalid or unknown
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc5452 | RFC 5452} for what keeps forged answers out
 *
 * @group DNS
 */
export function createDnsClient(options: DnsClientOptions = {}): DnsClient {
  requireOptions(options, ['timeoutMs'])
  const { timeoutMs = 5000 } = options
  if (!isTimeout(timeoutMs)) throw invalidOption('timeoutMs', 'must be a positive number below 2^31')
  /** Keyed by address; few addresses have more than one port. */
  const pools = new Map<string, readonly UdpPool[]>()
  let sweeper: NodeJS.Timeout | undefined

  function poolOf({ ip, port = 53 }: DnsQuestion['server']): UdpPool {
    const atAddress = pools.get(ip) ?? []
    for (const pool of atAddress) if (pool.server.port === port) return pool
    const pool = new UdpPool(checkedServer({ ip, port }))
    pools.set(ip, [...atAddress, pool])
    sweeper ??= setInterval(sweep, maxSocketAgeMs / 2).unref()
    return pool
  }

  function sweep(): void {
    const openedBefore = performance.now() - maxSocketAgeMs
    for (const [ip, atAddress] of pools) {
      const inUse = atAddress.filter((pool) => pool.retire(openedBefore))
      if (inUse.length > 0) pools.set(ip, inUse)
      else pools.delete(ip)
    }
    if (pools.size > 0) return
    clearInterval(sweeper)
    sweeper = undefined
  }

  return clientOver({
    name: 'udp',
    timeoutMs,
    routeTo({ server, transport }) {
      const pool = poolOf(server)
      const send: Stream['send'] = (message, listener) => sendOverTcp(pool.server, message, listener)
      return { pool: transport === 'tcp' ? undefined : pool, stream: { name: 'tcp', send } }
    },
    close() {
      clearInterval(sweeper)
      for (const pool of [...pools.values()].flat()) pool.close()
      pools.clear()
    },
  })
}
