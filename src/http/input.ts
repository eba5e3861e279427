import type { z } from 'zod'
import { UtilityApiError } from '../domain/errors.ts'
import { decodeHeaderText } from '../domain/header-text.ts'
import type { AnyOperation, Parameter } from '../operations/operation.ts'
import { readBody, type BodyFields } from './body.ts'
import { presentedClient } from './credentials.ts'
import type { RequestLike } from './messages.ts'

/** Reads what one operation takes from a request. */
export interface InputReader {
  /** Reads the body; null where the operation has none. */
  readonly body: ((request: RequestLike) => Promise<BodyFields>) | null
  /** The typed input, out of headers, path parameters and the body read before. */
  input(request: RequestLike, params: Readonly<Record<string, string>>, body: BodyFields): unknown
}

export const noFields: BodyFields = new Map()

/** Prepares the reading of an operation's input: what it looks at is the same for every request. */
export function inputReader(operation: AnyOperation): InputReader {
  const parameters = Object.entries<Parameter>(operation.parameters)
  const bodyNames = parameters.filter(([, parameter]) => parameter.in === 'body').map(([, { name }]) => name)

  return {
    body: bodyNames.length === 0 ? null : (request) => readBody(request, bodyNames),
    input(request, params, body) {
      const raw: Record<string, unknown> = {}
      for (const [field, parameter] of parameters) raw[field] = valueOf(parameter, request, params, body)
      if (operation.security.kind === 'client') addClient(raw, request)
      return parse(operation, raw)
    },
  }
}

function valueOf(
  { in: place, name }: Parameter,
  request: RequestLike,
  params: Readonly<Record<string, string>>,
  body: BodyFields,
): unknown {
  switch (place) {
    case 'header':
      return missingIfEmpty(decodeHeaderText(request.header(name) ?? ''))
    case 'path':
      return params[name]
    case 'body':
      return missingIfEmpty(body.get(name))
  }
}

function missingIfEmpty(value: unknown): unknown {
  return value === '' ? undefined : value
}

/** @see RFC 6749 section 2.3: a client must not use more than one authentication method in a request */
function addClient(raw: Record<string, unknown>, request: RequestLike): void {
  const client = presentedClient(request)
  if (client === null) return
  if (raw['clientSecret'] !== undefined) {
    throw new UtilityApiError(
      'invalid_request',
      'client_secret must not be sent beside an Authorization header.',
    )
  }
  if (raw['clientId'] !== undefined && raw['clientId'] !== client.clientId) {
    throw new UtilityApiError('invalid_request', 'client_id must be the one of the Authorization header.')
  }
  Object.assign(raw, client)
}

function parse(operation: AnyOperation, raw: Record<string, unknown>): unknown {
  const result = (operation.input as z.ZodType<unknown>).safeParse(raw)
  if (result.success) return result.data
  throw new UtilityApiError('invalid_request', sentenceOf(operation, result.error))
}

function sentenceOf({ parameters }: AnyOperation, error: z.ZodError): string {
  const [issue] = error.issues
  const parameter = (parameters as Record<string, Parameter | undefined>)[String(issue?.path[0])]
  return `${parameter?.name ?? 'The request'} ${issue?.message ?? 'is invalid'}.`
}
