import type { AnyOperation, OperationId } from '../operations/operation.ts'

/** What one status means at an operation, and the codes it comes with. */
interface Failure {
  readonly description: string
  readonly codes: readonly string[]
}

type Failures = Readonly<Record<number, Failure>>

const temporarily = ['temporarily_unavailable']

/** The token endpoint has the codes of RFC 6749 section 5.2. */
const oauthFailures: Failures = {
  400: {
    description: 'The request or the grant is invalid.',
    codes: ['invalid_request', 'invalid_grant', 'unauthorized_client', 'unsupported_grant_type'],
  },
  401: { description: 'Client authentication failed.', codes: ['invalid_client'] },
  405: { description: 'The path has another method.', codes: ['invalid_request'] },
  413: { description: 'The body is larger than 64 KB.', codes: ['invalid_request'] },
  415: { description: 'The body is neither JSON nor a form.', codes: ['invalid_request'] },
  429: { description: 'Too many requests.', codes: temporarily },
  500: { description: 'The service failed.', codes: ['server_error'] },
  503: { description: 'The service is overloaded or shutting down.', codes: temporarily },
}

const everywhere: Failures = {
  405: { description: 'The path has another method.', codes: ['method_not_allowed'] },
  429: { description: 'Too many requests.', codes: ['too_many_requests'] },
  500: { description: 'The database or the service failed.', codes: ['database_error', 'internal_error'] },
  503: { description: 'The service is overloaded or shutting down.', codes: ['unavailable'] },
}

const byOperation: Readonly<Record<Exclude<OperationId, 'exchangeToken'>, Failures>> = {
  updateLicense: {
    400: { description: 'No field was sent, or one is invalid.', codes: ['invalid_request'] },
    401: {
      description: 'The reseller token is invalid or does not match the licence.',
      codes: ['invalid_token', 'license_owner_mismatch'],
    },
    404: { description: 'The licence does not exist.', codes: ['license_not_found'] },
  },
  generateLicense: {
    400: { description: 'A field is missing or invalid.', codes: ['invalid_request'] },
    401: { description: 'The reseller token is invalid.', codes: ['invalid_token'] },
    422: {
      description: 'The Idempotency-Key was sent before with other fields.',
      codes: ['idempotency_mismatch'],
    },
  },
  checkDns: {
    400: { description: 'Domain or record type is missing or invalid.', codes: ['invalid_request'] },
    401: { description: 'The access token is invalid.', codes: ['invalid_token'] },
  },
  lookUpGameServer: {
    400: {
      description: 'The address is missing, invalid or not allowed.',
      codes: ['invalid_request', 'address_not_allowed'],
    },
    401: {
      description: 'The API key is invalid, missing or lacks the permission.',
      codes: ['invalid_api_key'],
    },
    500: {
      description: 'The server check, the database or the service failed.',
      codes: ['server_check_failed', 'database_error', 'internal_error'],
    },
  },
}

const missingScope: Failures = {
  403: { description: 'The access token lacks the scope.', codes: ['insufficient_scope'] },
}

/** The error answers of an operation, by status. */
export function errorResponses(
  operation: AnyOperation,
  sharedHeaders: object,
  ownErrorBodies: boolean,
): Record<string, object> {
  const { kind } = operation.security
  const bodies = ownErrorBodies && kind !== 'client' ? hostsBody : kind === 'client' ? oauthBody : plainBody
  return Object.fromEntries(
    Object.entries(failuresOf(operation)).map(([status, failure]) => [
      status,
      {
        description: failure.description,
        headers: { ...sharedHeaders, ...headersOf(Number(status)) },
        content: { 'application/json': bodies(failure) },
      },
    ]),
  )
}

function failuresOf({ id, security }: AnyOperation): Failures {
  if (id === 'exchangeToken') return oauthFailures
  const scoped = security.kind === 'access_token' && security.permission !== undefined
  return { ...everywhere, ...(scoped && missingScope), ...byOperation[id] }
}

function headersOf(status: number): object {
  if (status === 401 || status === 403) {
    return { 'WWW-Authenticate': { $ref: '#/components/headers/Challenge' } }
  }
  if (status === 429 || status === 503) return { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } }
  return status === 405 ? { Allow: { $ref: '#/components/headers/Allow' } } : {}
}

function plainBody(failure: Failure): object {
  return body(failure, 'message', 'A stable code.')
}

function oauthBody(failure: Failure): object {
  return body(failure, 'error_description', 'A code of RFC 6749.')
}

function body({ codes, description }: Failure, textMember: string, codeDescription: string): object {
  return {
    schema: {
      type: 'object',
      properties: {
        error: { type: 'string', enum: codes, description: codeDescription },
        [textMember]: { type: 'string', description: 'One sentence for people.' },
      },
      required: ['error', textMember],
    },
    examples: Object.fromEntries(
      codes.map((code) => [code, { value: { error: code, [textMember]: description } }]),
    ),
  }
}

function hostsBody(): object {
  return {}
}
