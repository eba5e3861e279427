/**
 * A request as the core reads it: a thin view that a mount creates of its server's own request.
 *
 * @group Mounts
 */
export interface RequestLike {
  /** The HTTP method, in upper case. */
  readonly method: string
  /** The request target as received (`/v3/tools/dnscheck?x=1`), or a whole URL. */
  readonly url: string
  /**
   * Returns the value of a header, or null if it was not sent.
   *
   * MUST join the values of a header sent more than once with `, `, so that a repeated credential is detected.
   *
   * @param name - In upper or lower case.
   */
  header(name: string): string | null
  /**
   * Tells whether a header was sent more than once, in which case an operation that reads it refuses the request.
   * Optional, for hosts that only have the joined value.
   *
   * @param name - In upper or lower case.
   */
  isRepeated?(name: string): boolean
  /**
   * Reads the whole body. Called at most once, immediately, and only for an operation that has a body.
   *
   * MUST count while reading and MUST stop as soon as there are more than `maxBytes`. It then resolves with what was
   * read so far, which is refused because of its length. MUST copy the pieces into one buffer, because each piece kept
   * alone costs hundreds of bytes more than it holds. Resolves with null if the host has read the body and kept
   * nothing, which is logged as the host's mistake. Rejects if the body does not arrive completely, or arrives in more
   * than a thousand pieces.
   */
  body(maxBytes: number): Promise<Uint8Array | null>
  /**
   * Reads the rest of the body and discards it. Called immediately for an operation that has no body, when a body takes
   * too long to arrive, and for every request that is refused: more than once perhaps, and also after the body has been
   * read. MUST NOT throw. Optional, for hosts that have already read the body.
   */
  drain?(): void
  /**
   * Whether a body is being sent that the host lets nobody read, perhaps in more than a thousand pieces. It would pile up
   * until the answer, so the request is refused at once. Default: false.
   */
  readonly bodyWithheld?: boolean
  /** Aborts when the client is gone. */
  readonly signal?: AbortSignal
}

/**
 * An answer as a plain record, for a mount to write out.
 *
 * @group Mounts
 */
export interface Reply {
  /** The HTTP status. */
  readonly status: number
  /** Headers in their usual spelling, including `Content-Length`. */
  readonly headers: Record<string, string>
  /**
   * The body, or `''` if there is none. A mount sends text as UTF-8. Octets are shared with other replies, so never
   * write to them.
   */
  readonly body: string | Uint8Array
  /**
   * MUST be called once, when the last octet has left or the connection is gone. Until then the answer counts as under
   * way, and a caller and a connection can have only so much under way. A host that takes a standard `Response` calls
   * it when it has handed the answer over.
   *
   * @param failure - What kept the mount from writing the answer, for the log.
   */
  readonly written: (failure?: unknown) => void
  /** True if no operation has the requested path, so that a mount may leave the request to others. */
  readonly unrouted?: true
}

/**
 * What a host knows about a request beyond the request itself.
 *
 * @group Mounts
 */
export interface RequestContext {
  /** Path parameters, if the host does its own routing: `{ license_key: 'LIC-…' }`. */
  readonly params?: Readonly<Record<string, string>>
  /** The client's address, for rate limits on failed credentials and for a sender's share while it is not known yet. */
  readonly ip?: string | undefined
  /**
   * Any object that stands for the client's HTTP/1 connection. Of its requests, at most 16 may be under way at once,
   * and more are refused. Leave it out for HTTP/2, where one connection may carry all users of a proxy, and where the
   * mount ends such connections by itself, as the one for Node.js does.
   */
  readonly connection?: object | undefined
  /** Aborts when the client is gone. Used instead of the request's own signal. */
  readonly signal?: AbortSignal
  /**
   * The request id to use instead of `X-Request-Id`, or a function that returns it: at most 64 of the characters
   * A-Z a-z 0-9 _ . ~ : + / = -. For anything else a new one is made, and what the function throws is logged.
   */
  readonly requestId?: string | (() => unknown) | undefined
  /** Whether requests for other paths go to other handlers. They get a bare `unrouted` reply and are not logged. */
  readonly fallthrough?: boolean
}
