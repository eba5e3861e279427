import { UtilityApiError } from '../domain/errors.ts'
import { defaultServerPort, parseServerHost } from '../domain/server-address.ts'
import type { ServerStatus } from '../domain/server-status.ts'
import type { BlockgameClient, BlockgameTarget } from '../ports/blockgame-client.ts'
import type { DnsClient } from '../ports/dns-client.ts'
import { askServer } from './ask.ts'
import { createGuard, type AddressRule, type Typed } from './guard.ts'
import { Lookup } from './lookup.ts'
import { asker, resolveEndpoints, type Endpoint, type Resolver } from './resolve.ts'

/** What {@link createClient} needs. */
export interface ClientParts {
  /** Asks for SRV, A and AAAA records. Closed with the client. */
  readonly dns: DnsClient
  /** The resolvers to ask, best first. */
  readonly resolvers: readonly Resolver[]
  /** Replaces the default rule. */
  readonly allowAddress?: AddressRule | undefined
  /** Protocol number to send. */
  readonly protocolVersion: number
}

const defaultTimeoutMs = 5000
const longestTimeoutMs = 2 ** 31 - 1

/** Makes a client over a DNS client and resolvers. */
export function createClient({
  dns,
  resolvers,
  allowAddress,
  protocolVersion,
}: ClientParts): BlockgameClient {
  const guard = createGuard(allowAddress)
  // No Set: the tables that one outgrows keep every lookup they held until V8's next full collection.
  const lookups: Lookup[] = []
  let closed = false

  const lookUp = async (typed: Typed, known: Endpoint[] | null, lookup: Lookup): Promise<ServerStatus> => {
    const endpoints =
      known ?? guard.resolved(typed, await resolveEndpoints(typed, asker(dns, resolvers, lookup), lookup))
    return askServer(lookup, endpoints, typed, protocolVersion)
  }

  return {
    async status(target) {
      const { timeoutMs, ...typed } = checkTarget(target)
      if (closed) throw closedError()
      target.signal?.throwIfAborted()
      const known = guard.typed(typed)
      const lookup = new Lookup(timeoutMs)
      const abort = (): void => lookup.abort(target.signal?.reason as Error)
      target.signal?.addEventListener('abort', abort)
      lookups.push(lookup)
      try {
        return await lookup.run(() => lookUp(typed, known, lookup))
      } finally {
        lookups.splice(lookups.indexOf(lookup), 1)
        target.signal?.removeEventListener('abort', abort)
      }
    },
    async close() {
      closed = true
      for (const lookup of lookups) lookup.abort(closedError())
      await dns.close()
    },
  }
}

function checkTarget({ host, port = defaultServerPort, timeoutMs = defaultTimeoutMs }: BlockgameTarget): {
  host: string
  port: number
  timeoutMs: number
} {
  const canonical = parseServerHost(host)
  if (canonical === null) throw invalid('host must be a host name or an IP address.')
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw invalid('port must be an integer from 1 to 65535.')
  }
  if (!(timeoutMs > 0 && timeoutMs <= longestTimeoutMs)) {
    throw invalid('timeoutMs must be a positive number below 2^31.')
  }
  return { host: canonical, port, timeoutMs }
}

function invalid(message: string): UtilityApiError {
  return new UtilityApiError('invalid_argument', message)
}

function closedError(): UtilityApiError {
  return new UtilityApiError('unavailable', 'The client is closed.')
}
