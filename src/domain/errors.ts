/**
 * The stable, machine-readable name of an error, which callers can branch on.
 *
 * `invalid_options` and `invalid_argument` are thrown to the embedding program. The operations never answer with them; an
 * error handler around your own route answers 400 for `invalid_argument`, which is mostly what a person typed.
 *
 * @group Errors
 */
export type ErrorCode = keyof typeof statusByCode

/** The HTTP status each error code answers with. */
const statusByCode = {
  invalid_request: 400,
  address_not_allowed: 400,
  invalid_grant: 400,
  unauthorized_client: 400,
  unsupported_grant_type: 400,
  invalid_client: 401,
  invalid_token: 401,
  invalid_api_key: 401,
  license_owner_mismatch: 401,
  insufficient_scope: 403,
  not_found: 404,
  license_not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  payload_too_large: 413,
  unsupported_media_type: 415,
  idempotency_mismatch: 422,
  too_many_requests: 429,
  database_error: 500,
  server_check_failed: 500,
  internal_error: 500,
  unavailable: 503,
  // These two reach the program that calls us. What it passes on as an argument mostly comes from its own client.
  invalid_options: 500,
  invalid_argument: 400,
} as const

/**
 * What can accompany an error.
 *
 * @group Errors
 */
export interface UtilityApiErrorOptions {
  /** What went wrong inside, for the log. Not by TypeScript's `ErrorOptions`, which targets up to ES2020 do not have. */
  readonly cause?: unknown
  /** Seconds after which trying again makes sense; sent as `Retry-After`, rounded up. */
  readonly retryAfterSeconds?: number
  /** Response headers that belong to the error, such as `WWW-Authenticate`. */
  readonly headers?: Readonly<Record<string, string>>
  /** The argument that an `invalid_argument` is about. */
  readonly argument?: string
}

/**
 * The error of every operation, option and argument: a refusal or a failure with a stable code.
 *
 * `message` is public and is sent to the client; `cause` is for the log and never leaves the process. `status`,
 * `headers`, `expose` and `getResponse` are what the error handlers of Express, Fastify, Koa and Hono look for, so that
 * an error thrown in one of your routes is answered correctly.
 *
 * @example
 * ```ts
 * try {
 *   createUtilityApi({ storage, basePath: 'no-slash' })
 * } catch (error) {
 *   if (error instanceof UtilityApiError && error.code === 'invalid_options') console.error(error.message)
 * }
 * ```
 *
 * @group Errors
 */
export class UtilityApiError extends Error {
  override readonly name: string = 'UtilityApiError'
  /** What went wrong, as a stable code. */
  readonly code: ErrorCode
  /** The HTTP status this error answers with. */
  readonly status: number
  /** Seconds to wait before trying again, if known. */
  readonly retryAfterSeconds: number | undefined
  /** Response headers that belong to the error: `WWW-Authenticate`, `Retry-After`, `Allow`. */
  readonly headers: Readonly<Record<string, string>>
  /** The argument or the member of it, as in `domainOrIp`, that an `invalid_argument` is about; else undefined. */
  readonly argument: string | undefined

  /** Creates an error. `message` is one sentence that a client may read. */
  constructor(code: ErrorCode, message: string, options: UtilityApiErrorOptions = {}) {
    super(message, options)
    const { retryAfterSeconds, headers = noHeaders, argument } = options
    this.code = code
    this.status = statusByCode[code]
    this.retryAfterSeconds = retryAfterSeconds
    this.argument = argument
    // Frozen: errors share them, and what a host's error handler adds to one would be sent with the others.
    this.headers = Object.freeze(
      retryAfterSeconds === undefined
        ? { ...headers }
        : { ...headers, 'Retry-After': String(Math.min(Math.ceil(retryAfterSeconds), longestRetrySeconds)) },
    )
  }

  /** The same as `status`, under the name that Fastify and others look for. */
  get statusCode(): number {
    return this.status
  }

  /** Whether an error handler may show `message`: true for refusals (4xx), as in `http-errors`. */
  get expose(): boolean {
    return this.status < 500
  }

  /** Returns the answer to send, which Hono's error handler and hosts that use `Response` ask for. */
  getResponse(): Response {
    return Response.json({ error: this.code, message: this.message }, this)
  }
}

const noHeaders: Readonly<Record<string, string>> = {}
/** About 68 years. `Retry-After` is written in digits, and greater numbers are not. */
const longestRetrySeconds = 2 ** 31 - 1

/** A refusal that an operation or a scheme declares in advance: a code and its sentence. */
export interface Refusal {
  readonly code: ErrorCode
  readonly message: string
}

/** Declares a refusal. */
export function refusal(code: ErrorCode, message: string): Refusal {
  return { code, message }
}

/** The refusal used once the service is closed. */
export const shuttingDown: Refusal = refusal('unavailable', 'The service is shutting down.')

/** For a client that will send more of what was refused, because its connection cannot serve another request. */
export const closeConnection = { headers: { Connection: 'close' } }

/** Returns the error to throw for a refusal. */
export function refused({ code, message }: Refusal, options?: UtilityApiErrorOptions): UtilityApiError {
  return new UtilityApiError(code, message, options)
}

/** Returns the HTTP status that a refusal answers with. */
export function statusOf({ code }: Refusal): number {
  return statusByCode[code]
}
