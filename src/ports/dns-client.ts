import type { DnsAnswer } from '../domain/dns-answer.ts'
import type { RecordType } from '../domain/dns-record.ts'

/**
 * A client that asks one resolver one question per call.
 *
 * @group Ports
 */
export interface DnsClient {
  /**
   * Asks a question and returns how it ended.
   *
   * MUST resolve whatever the network and the resolver do, so a silent, broken or unreachable resolver is a `status`.
   * MUST settle within `timeoutMs`, free its sockets on every path, and accept any number of calls at once. Operations
   * call it in the async context (`AsyncLocalStorage`) of nobody, because several requests may share the answer.
   *
   * Rejects with the signal's reason if `signal` aborts, and with an error if the question itself is invalid.
   *
   * @throws `UtilityApiError` `unavailable` if this machine cannot ask because it has no file descriptors or memory left.
   * Nobody else is at fault then; the `cause` is the system's error.
   */
  query(question: DnsQuestion): Promise<DnsAnswer>
  /** Ends queries in progress with `UNREACHABLE` and closes every socket. MUST be idempotent. */
  close(): Promise<void>
}

/**
 * One question for one resolver.
 *
 * @group Ports
 */
export interface DnsQuestion {
  /** Any domain name, with or without a final dot and as answers show names (`\.`, `\DDD`); `.` or `''` for the root. */
  readonly name: string
  /** The requested record type. */
  readonly type: RecordType
  /**
   * The resolver: an IPv4 or IPv6 address, and a port. A link-local address names its interface, as in `fe80::1%eth0`.
   * Default port: 53. `doh` is the URL at which it answers over HTTPS, for a client that asks so.
   */
  readonly server: { readonly ip: string; readonly port?: number; readonly doh?: string }
  /** Deadline for the whole query, including retries and TCP, in milliseconds. Default: 5000. */
  readonly timeoutMs?: number
  /** EDNS Client Subnet to send, such as `192.0.2.0/24`. Default: none. */
  readonly clientSubnet?: string
  /**
   * Whether the server is to ask others for the answer; false asks only for what it knows itself, which is how to ask
   * the servers of a zone. Default: true.
   */
  readonly recursionDesired?: boolean
  /**
   * Whether a validating resolver is to answer without validation (the CD bit), so that it has an answer for a zone
   * whose signatures are broken. Default: false.
   */
  readonly checkingDisabled?: boolean
  /** `tcp` asks over TCP at once, `udp` only if the answer does not fit in a datagram. Nothing to HTTPS. Default: `udp`. */
  readonly transport?: 'udp' | 'tcp'
  /** Ends the query early when it aborts. */
  readonly signal?: AbortSignal
}
