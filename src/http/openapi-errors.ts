import { refused, statusOf, type Refusal } from '../domain/errors.ts'
import { databaseFailed } from '../storage/timed-storage.ts'
import type { Scheme } from '../security/scheme.ts'
import { bodyReaderRefusals, bodyWithheld } from './body-reader.ts'
import { bodyRefusals } from './body-parser.ts'
import { inFlightRefusals } from '../bounds/in-flight.ts'
import { tooManyRequests } from './rate-limit.ts'
import { errorBody, internalError } from './error-reply.ts'
import { methodNotAllowed, nothingHere, type Routed } from './router.ts'

export interface ErrorOptions {
  /** The refusals of the operation and its scheme. */
  readonly refusals: readonly Refusal[]
  readonly hasBody: boolean
  readonly sharedHeaders: object
  readonly ownErrorBodies: boolean
}

/** Returns the error answers of an operation by status. Each sentence in them is one that is thrown. */
export function errorResponses(
  routed: Routed,
  scheme: Pick<Scheme<unknown>, 'errorBody' | 'openapi'>,
  { refusals, hasBody, sharedHeaders, ownErrorBodies }: ErrorOptions,
): Record<string, object> {
  const all: Refusal[] = [
    ...(hasBody ? [...bodyRefusals, ...bodyReaderRefusals] : []),
    ...(routed.method === 'GET' ? [bodyWithheld] : []),
    ...refusals,
    // To a gateway, an empty segment is a parameter as well.
    ...(routed.path.includes('{') ? [nothingHere] : []),
    methodNotAllowed(routed),
    tooManyRequests,
    databaseFailed,
    internalError,
    ...inFlightRefusals,
  ]
  const byStatus = Map.groupBy(all, statusOf)
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => [
      status,
      {
        description: [...new Set(group.map(({ message }) => message))].join(' '),
        headers: { ...sharedHeaders, ...headersOf(status, scheme) },
        content: { 'application/json': ownErrorBodies && !scheme.errorBody ? {} : contentOf(group, scheme) },
      },
    ]),
  )
}

function headersOf(status: number, { openapi }: Pick<Scheme<unknown>, 'openapi'>): object {
  if (status === 401 || status === 403) {
    return { 'WWW-Authenticate': { ...openapi.challenge, schema: { type: 'string' } } }
  }
  if (status === 429 || status === 503) return { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } }
  return status === 405 ? { Allow: { $ref: '#/components/headers/Allow' } } : {}
}

function contentOf(
  group: readonly Refusal[],
  { errorBody: schemeBody, openapi }: Pick<Scheme<unknown>, 'errorBody' | 'openapi'>,
): object {
  const values = group
    .map((refusal) => refused(refusal))
    .map((error) => schemeBody?.(error) ?? errorBody(error))
  const [code = '', text = ''] = Object.keys(values[0] ?? {})
  const codes = values.map((value) => Object.values(value)[0] as string)
  return {
    schema: {
      type: 'object',
      properties: {
        [code]: { type: 'string', enum: [...new Set(codes)], description: openapi.codes },
        [text]: { type: 'string', description: 'One sentence for people.' },
      },
      required: [code, text],
    },
    examples: Object.fromEntries(values.map((value, index) => [nameOf(codes, index), { value }])),
  }
}

/** Returns the code, followed by a number from its second example on. */
function nameOf(codes: readonly string[], index: number): string {
  const before = codes.slice(0, index).filter((code) => code === codes[index]).length
  return before === 0 ? String(codes[index]) : `${codes[index]}_${before + 1}`
}
