import { isIP } from 'node:net'
import { refused, type UtilityApiError } from '../domain/errors.ts'
import { isPublicAddress } from '../domain/ip-address.ts'
import { addressNotAllowed, ServerCheckError } from '../domain/server-status.ts'
import type { Endpoint } from './resolve.ts'

/**
 * Somewhere a lookup is about to connect to.
 *
 * @group Block game
 */
export interface ConnectionTarget {
  /** The resolved address, in canonical text. */
  readonly ip: string
  /** The TCP port, after SRV. */
  readonly port: number
  /** The host as asked for: a name, or the address itself. */
  readonly host: string
}

/** Decides whether a connection may be made. */
export type AddressRule = (target: ConnectionTarget) => boolean

/** The host and port that somebody requests the status of, before SRV and resolution. */
export interface RequestedTarget {
  readonly host: string
  readonly port: number
}

const lowestPort = 1024
const localhost = /(?:^|\.)localhost$/
const defaultRule: AddressRule = ({ ip, port }) => port >= lowestPort && isPublicAddress(ip)

/** What stands between what strangers request and the addresses we connect to. */
export interface AddressFilter {
  /**
   * The permitted endpoints of a target that leads somewhere without asking a resolver; null when it needs one.
   *
   * @throws `UtilityApiError` `address_not_allowed` when the target can lead to none.
   */
  requested(target: RequestedTarget): Endpoint[] | null
  /**
   * The permitted ones among resolved endpoints.
   *
   * @throws `ServerCheckError` `blocked` when none is permitted.
   */
  resolved(target: RequestedTarget, endpoints: readonly Endpoint[]): Endpoint[]
}

/** Makes a filter; `rule` replaces the default one: public addresses and ports from 1024. */
export function createAddressFilter(rule: AddressRule = defaultRule): AddressFilter {
  const permitted = ({ host }: RequestedTarget, endpoints: readonly Endpoint[]): Endpoint[] =>
    endpoints.filter(({ ip, port }) => rule({ ip, port, host }))
  return {
    requested(target) {
      const { host, port } = target
      // The default rule judges a port whatever the address, so nobody need be asked about the name.
      if (rule === defaultRule && port < lowestPort) throw notAllowed()
      const ips = knownAddresses(host)
      if (ips === null) return null
      const endpoints = permitted(
        target,
        ips.map((ip) => ({ ip, port, srvRecord: null })),
      )
      if (endpoints.length === 0) throw notAllowed()
      return endpoints
    },
    resolved(target, endpoints) {
      const open = permitted(target, endpoints)
      if (open.length === 0) throw new ServerCheckError('blocked')
      return open
    },
  }
}

/** The addresses that a host has without asking anybody: an address itself, `localhost` the loopback ones (RFC 6761). */
function knownAddresses(host: string): string[] | null {
  if (isIP(host)) return [host]
  return localhost.test(host) ? ['127.0.0.1', '::1'] : null
}

function notAllowed(): UtilityApiError {
  return refused(addressNotAllowed)
}
