import type { DnsAnswer, RecordType } from '../domain/dns-answer.ts'

/**
 * Asks one resolver one question.
 *
 * @group Ports
 */
export interface DnsClient {
  /**
   * Asks, and says what came of it.
   *
   * MUST resolve for everything the network and the resolver do: a silent, broken or unreachable resolver is a `status`.
   * MUST settle within `timeoutMs`, free its sockets on every path, and accept any number of calls at once.
   *
   * Rejects with the signal's reason when `signal` aborts, and when the question itself is no valid one.
   */
  query(question: DnsQuestion): Promise<DnsAnswer>
  /** Ends queries under way with `UNREACHABLE` and closes every socket. MUST be idempotent. */
  close(): Promise<void>
}

/**
 * One question for one resolver.
 *
 * @group Ports
 */
export interface DnsQuestion {
  /** Host name in ASCII without final dot; `.` or `''` for the root. */
  readonly name: string
  /** The record type asked for. */
  readonly type: RecordType
  /** The resolver: an IPv4 or IPv6 address, and a port. Default port: 53. */
  readonly server: { readonly ip: string; readonly port?: number }
  /** Deadline for everything, retries and TCP included, in milliseconds. Default: 5000. */
  readonly timeoutMs?: number
  /** EDNS Client Subnet to send, as `192.0.2.0/24`. Default: none. */
  readonly clientSubnet?: string
  /** Gives up early. */
  readonly signal?: AbortSignal
}
