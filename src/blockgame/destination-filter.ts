import { isIP } from 'node:net'
import { refused, type UtilityApiError } from '../domain/errors.ts'
import { isPublicAddress } from '../domain/ip-address.ts'
import type { GameServerAddress } from '../domain/server-address.ts'
import { addressNotAllowed } from '../domain/server-status.ts'
import type { Destination } from './candidates.ts'

/**
 * The destination that a lookup is about to connect to.
 *
 * @group Minecraft
 */
export interface ConnectionTarget {
  /** The resolved address, in canonical text. */
  readonly ip: string
  /** The TCP port, after SRV. */
  readonly port: number
  /** The host as requested: a name, or the address itself. */
  readonly host: string
}

/** Decides whether a connection may be made. */
export type AddressRule = (target: ConnectionTarget) => boolean

const lowestPort = 1024
const localhost = /(?:^|\.)localhost$/
const defaultRule: AddressRule = ({ ip, port }) => port >= lowestPort && isPublicAddress(ip)

/** Decides which of the destinations that strangers request we connect to. */
export interface DestinationFilter {
  /**
   * Returns the permitted destinations of a target that needs no resolver, or null if it needs one.
   *
   * @throws `UtilityApiError` `address_not_allowed` if the target cannot lead to a permitted destination.
   */
  requested(target: GameServerAddress): Destination[] | null
  /** Returns the permitted destinations among the resolved ones. */
  resolved(target: GameServerAddress, destinations: readonly Destination[]): Destination[]
}

/** Creates a filter. `rule` replaces the default rule, which permits public addresses and ports from 1024. */
export function createDestinationFilter(rule: AddressRule = defaultRule): DestinationFilter {
  const permitted = ({ host }: GameServerAddress, destinations: readonly Destination[]): Destination[] =>
    destinations.filter(({ ip, port }) => permits(rule, { ip, port, host }))
  return {
    requested(target) {
      const { host, port } = target
      // The default rule checks the port regardless of the address, so the name need not be resolved.
      if (rule === defaultRule && port < lowestPort)
        throw notAllowed(`Port ${port} is below ${lowestPort}: the option allowAddress can permit it.`)
      const ips = knownAddresses(host)
      if (ips === null) return null
      const known = ips.map((ip) => ({ ip, port, srvRecord: null }))
      const destinations = permitted(target, known)
      if (destinations.length === 0) throw notAllowed(whyNot(rule, ips, port))
      return destinations
    },
    resolved: permitted,
  }
}

/** Asks the rule. JavaScript would take a promise, which an `async` rule returns, for a yes to every address. */
function permits(rule: AddressRule, target: ConnectionTarget): boolean {
  const answer: unknown = rule(target)
  if (typeof answer === 'boolean') return answer
  // A rejection that nobody handles would end the process.
  Promise.resolve(answer).catch(() => undefined)
  throw new TypeError('allowAddress must return true or false.')
}

/** Returns a host's addresses that need no resolver: an address itself, or loopback for `localhost` (RFC 6761). */
function knownAddresses(host: string): string[] | null {
  if (isIP(host)) return [host]
  return localhost.test(host) ? ['127.0.0.1', '::1'] : null
}

function whyNot(rule: AddressRule, ips: readonly string[], port: number): string {
  const addresses = ips.join(' and ')
  return rule === defaultRule
    ? `Not a public address: ${addresses}. The option allowAddress can permit it.`
    : `The option allowAddress does not permit ${addresses} with port ${port}.`
}

/** @param cause - Why, for the program and its log: strangers are told no more than that it is refused. */
function notAllowed(cause: string): UtilityApiError {
  return refused(addressNotAllowed, { cause })
}
