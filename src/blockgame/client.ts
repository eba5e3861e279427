import { AsyncResource } from 'node:async_hooks'
import { Slots } from '../bounds/slots.ts'
import { UtilityApiError } from '../domain/errors.ts'
import type { GameServerAddress } from '../domain/server-address.ts'
import type { BlockgameClient } from '../ports/blockgame-client.ts'
import type { DnsClient } from '../ports/dns-client.ts'
import { Candidates } from './candidates.ts'
import { checkTarget } from './checked-target.ts'
import { DeadlineScope } from './deadline-scope.ts'
import { fetchStatus } from './fetch-status.ts'
import { createDestinationFilter, type AddressRule } from './destination-filter.ts'
import { resolveDestinations } from './resolve.ts'
import { Resolvers, type Resolve, type ResolverAddress } from './resolvers.ts'

/** What {@link createClient} needs. */
export interface ClientParts {
  /** Asks for SRV, A and AAAA records. Closed with the client. */
  readonly dns: DnsClient
  /** The resolvers to ask, best first. */
  readonly resolvers: readonly ResolverAddress[]
  /** Finds addresses before the resolvers are asked. */
  readonly resolve?: Resolve | undefined
  /** Replaces the default rule. */
  readonly allowAddress?: AddressRule | undefined
  /** Protocol number to send. */
  readonly protocolVersion: number
  /** Protocol number to send to a server that hangs up or stays silent. */
  readonly fallbackProtocolVersion: number
}

/** What the host may choose of it. */
export const clientOptionNames = [
  'allowAddress',
  'resolvers',
  'resolve',
  'protocolVersion',
  'fallbackProtocolVersion',
] as const

/** Creates a client that uses a DNS client and resolvers. */
export function createClient(parts: ClientParts): BlockgameClient {
  const { dns, resolvers, resolve: ownResolve, allowAddress, ...versions } = parts
  const filter = createDestinationFilter(allowAddress)
  const asked = new Resolvers(dns, resolvers, ownResolve)
  const aborts = new Slots<() => void>()
  let closed = false

  /** Finds the candidates of a target while they are being tried. */
  const resolve = (target: GameServerAddress, scope: DeadlineScope): Candidates => {
    const candidates = new Candidates()
    let blocked = false
    resolveDestinations(target, asked, scope, (rank, destinations) => {
      const permitted = filter.resolved(target, destinations)
      blocked ||= permitted.length < destinations.length
      candidates.add(rank, permitted)
    }).then(
      () => candidates.end(blocked ? 'blocked' : 'dns'),
      (error: Error) => scope.abort(error),
    )
    return candidates
  }

  return {
    async status(target) {
      const { timeoutMs, requested, ...said } = checkTarget(target)
      const { signal } = target
      if (closed) throw closedError()
      signal?.throwIfAborted()
      const known = filter.requested(requested)
      const scope = new DeadlineScope(timeoutMs)
      // A `resolve` of the host may listen, and would act for whoever closes the client.
      const own = new AsyncResource('utility-api')
      const abort = (): void =>
        own.runInAsyncScope(() => scope.abort(closed ? closedError() : (signal?.reason as Error)))
      signal?.addEventListener('abort', abort)
      const slot = aborts.add(abort)
      try {
        return await scope.run(() => {
          const candidates = known === null ? resolve(requested, scope) : Candidates.of(known)
          return fetchStatus({ scope, candidates, introduction: { ...said, ...versions } })
        })
      } finally {
        aborts.free(slot)
        signal?.removeEventListener('abort', abort)
      }
    },
    async close() {
      closed = true
      for (const abort of aborts.all()) abort()
      await dns.close()
    },
  }
}

function closedError(): UtilityApiError {
  return new UtilityApiError('unavailable', 'The client is closed.')
}
