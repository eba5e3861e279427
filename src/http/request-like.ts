/**
 * A request as the core reads it: the thin view that a mount makes of its server's own request.
 *
 * @group Mounts
 */
export interface RequestLike {
  /** The HTTP method, in upper case. */
  readonly method: string
  /** The request target as it came (`/v3/tools/dnscheck?x=1`), or a whole URL. */
  readonly url: string
  /**
   * The value of a header, null when it was not sent.
   *
   * @param name - In any case. MUST join a header sent more than once with `, `, so that a repeated credential is seen.
   */
  header(name: string): string | null
  /**
   * The whole body; called at most once, at once, and only where an operation has one.
   *
   * MUST count while reading and MUST stop as soon as there are more than `maxBytes`: what was read by then is resolved, and
   * refused by its length. MUST copy what comes into one buffer, for each piece kept by itself costs hundreds of bytes more
   * than it holds. Rejects when the body does not arrive whole, or in more than a thousand pieces.
   */
  body(maxBytes: number): Promise<Uint8Array>
  /**
   * Reads what comes of the body and keeps none of it: called at once where an operation has no body, and instead of waiting
   * any longer where one takes too long to arrive. Optional, for hosts that have read the body already.
   */
  drain?(): void
  /**
   * Whether a body is on its way that the host lets nobody read, in more than a thousand pieces perhaps: it would pile up
   * until the answer, so the request is refused at once. Default: false.
   */
  readonly bodyWithheld?: boolean
  /** Aborts when the client has gone. */
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
  /** Headers by their usual spelling; `Content-Length` is among them. */
  readonly headers: Record<string, string>
  /** The body, `''` for none; a mount sends it in UTF-8. */
  readonly body: string
  /** True when no operation has the path asked for, so that a mount may leave the request to others. */
  readonly unrouted?: true
}

/**
 * What a host knows of a request beyond the request itself.
 *
 * @group Mounts
 */
export interface RequestContext {
  /** Path parameters, where the host has routed by itself: `{ license_key: 'LIC-…' }`. */
  readonly params?: Readonly<Record<string, string>>
  /** The client's address, for rate limits on failed credentials. */
  readonly ip?: string | undefined
  /** Aborts when the client has gone, instead of the request's own signal. */
  readonly signal?: AbortSignal
  /** The request id to use, instead of `X-Request-Id`; at most 64 of the characters A-Z a-z 0-9 _ . ~ : + / = -. */
  readonly requestId?: string
  /** A request for another path goes on to others: it gets a bare `unrouted` reply, and is neither logged nor reported. */
  readonly fallthrough?: boolean
}
