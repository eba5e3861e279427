/**
 * The stable, machine-readable name of an error: what callers branch on.
 *
 * `invalid_options` and `invalid_argument` are thrown to the embedding program and never sent over HTTP.
 *
 * @group Errors
 */
export type ErrorCode =
  | 'invalid_request'
  | 'address_not_allowed'
  | 'invalid_grant'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'invalid_client'
  | 'invalid_token'
  | 'invalid_api_key'
  | 'license_owner_mismatch'
  | 'insufficient_scope'
  | 'not_found'
  | 'license_not_found'
  | 'method_not_allowed'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'idempotency_mismatch'
  | 'too_many_requests'
  | 'database_error'
  | 'server_check_failed'
  | 'internal_error'
  | 'unavailable'
  | 'invalid_options'
  | 'invalid_argument'

/** The HTTP status each error code answers with. */
const statusByCode: Readonly<Record<ErrorCode, number>> = {
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
  payload_too_large: 413,
  unsupported_media_type: 415,
  idempotency_mismatch: 422,
  too_many_requests: 429,
  database_error: 500,
  server_check_failed: 500,
  internal_error: 500,
  unavailable: 503,
  // Never sent: these two reach the program that calls us, not its clients.
  invalid_options: 500,
  invalid_argument: 500,
}

/**
 * What can accompany an error.
 *
 * @group Errors
 */
export interface UtilityApiErrorOptions extends ErrorOptions {
  /** Seconds after which trying again makes sense; sent as `Retry-After`. */
  readonly retryAfterSeconds?: number
}

/**
 * The one error class of this library: a refusal or a failure with a stable code.
 *
 * `message` is public and is sent to the client; `cause` is for the log and never leaves the process.
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
  /** Seconds to wait before trying again, where that is known. */
  readonly retryAfterSeconds: number | undefined

  /** Makes an error; `message` is one sentence that a client may read. */
  constructor(code: ErrorCode, message: string, options?: UtilityApiErrorOptions) {
    super(message, options)
    this.code = code
    this.status = statusByCode[code]
    this.retryAfterSeconds = options?.retryAfterSeconds
  }
}
