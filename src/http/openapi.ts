import { z } from 'zod'
import type { AnyOperation, Parameter, Security } from '../operations/operation.ts'
import { answerExamples, requestExamples } from './openapi-examples.ts'
import { errorResponses } from './openapi-errors.ts'

/**
 * An OpenAPI 3.1 document.
 *
 * @see {@link https://spec.openapis.org/oas/v3.1.1.html | OpenAPI 3.1}
 *
 * @group Operation
 */
export interface OpenApiDocument {
  /** The version of the OpenAPI specification. */
  readonly openapi: '3.1.0'
  /** Title and version of the API. */
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  /** Where the paths begin. */
  readonly servers: readonly { readonly url: string }[]
  /** What the operations are grouped by. */
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  /** The operations by path and method. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  /** Security schemes, shared headers and parameters. */
  readonly components: Readonly<Record<string, unknown>>
}

export interface OpenApiOptions {
  readonly basePath: string
  /** Whether the host makes the error bodies, of which the document can then say nothing. */
  readonly ownErrorBodies: boolean
}

type JsonSchema = { properties?: Record<string, object>; required?: string[] } & Record<string, unknown>

/** Describes a table of operations: one source for what is served and what is documented. */
export function openApiDocument(
  operations: readonly AnyOperation[],
  { basePath, ownErrorBodies }: OpenApiOptions,
): OpenApiDocument {
  const kinds = [...new Set(operations.map(({ security }) => security.kind))]
  return {
    openapi: '3.1.0',
    info: {
      title: 'Utility API',
      version: '1.0.0',
      description: 'OAuth token exchange, reseller licences, DNS check and game server lookup.',
    },
    servers: [{ url: basePath === '' ? '/' : basePath }],
    tags: kinds.map((kind) => tags[kind]),
    paths: Object.fromEntries(
      operations.map((operation) => [
        operation.path,
        { [operation.method.toLowerCase()]: describe(operation, ownErrorBodies) },
      ]),
    ),
    components: {
      securitySchemes: Object.fromEntries(kinds.map((kind) => [kind, securitySchemes[kind]])),
      parameters: { RequestId: requestIdParameter },
      headers,
    },
  }
}

function describe(operation: AnyOperation, ownErrorBodies: boolean): object {
  const input = schemaOf(operation.input, 'input')
  const parameters = Object.entries<Parameter>(operation.parameters)
  const inBody = parameters.filter(([, parameter]) => parameter.in === 'body')
  const outside = parameters.filter(([, parameter]) => parameter.in !== 'body')
  const { kind } = operation.security
  return {
    operationId: operation.id,
    summary: operation.summary,
    tags: [tags[kind].name],
    security: kind === 'client' ? [{}, { client: [] }] : [{ [kind]: [] }],
    parameters: [
      ...outside.map(([field, parameter]) => parameterOf(field, parameter, input)),
      { $ref: '#/components/parameters/RequestId' },
    ],
    ...(inBody.length > 0 && { requestBody: bodyOf(inBody, input) }),
    responses: {
      200: {
        description: 'Done.',
        headers: sharedHeaders(operation),
        content: {
          'application/json': {
            schema: schemaOf(operation.output, 'output'),
            example: answerExamples[operation.id],
          },
        },
      },
      ...errorResponses(operation, sharedHeaders(operation), ownErrorBodies),
    },
  }
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any', override: tidy })
  return rest as JsonSchema
}

/** Takes out what zod adds and nobody means: the bounds of JavaScript's integers, and that no member may ever be added. */
function tidy({ jsonSchema }: { jsonSchema: Record<string, unknown> }): void {
  if (jsonSchema['minimum'] === Number.MIN_SAFE_INTEGER) delete jsonSchema['minimum']
  if (jsonSchema['maximum'] === Number.MAX_SAFE_INTEGER) delete jsonSchema['maximum']
  delete jsonSchema['additionalProperties']
}

function parameterOf(field: string, { in: place, name, description }: Parameter, input: JsonSchema): object {
  const required = input.required?.includes(field) ?? false
  const schema = input.properties?.[field] ?? {}
  const example = requestExamples[name]
  return { name, in: place, description, required, schema, ...(example !== undefined && { example }) }
}

function bodyOf(parameters: [string, Parameter][], input: JsonSchema): object {
  const schema = {
    type: 'object',
    properties: Object.fromEntries(
      parameters.map(([field, { name, description }]) => [
        name,
        { ...input.properties?.[field], description },
      ]),
    ),
    required: parameters.filter(([field]) => input.required?.includes(field)).map(([, { name }]) => name),
  }
  const example = Object.fromEntries(schema.required.map((name) => [name, requestExamples[name]]))
  return {
    required: true,
    content: {
      'application/json': { schema, example },
      'application/x-www-form-urlencoded': { schema, example },
    },
  }
}

function sharedHeaders({ security }: AnyOperation): object {
  return {
    'X-Request-Id': { $ref: '#/components/headers/RequestId' },
    ...(security.kind === 'client' && { 'Cache-Control': { $ref: '#/components/headers/NoStore' } }),
  }
}

const tags: Readonly<Record<Security['kind'], { name: string; description: string }>> = {
  client: { name: 'OAuth', description: 'Codes become access tokens (RFC 6749).' },
  reseller_token: { name: 'Licences', description: 'Resellers create and change licences.' },
  access_token: { name: 'DNS', description: 'Records of a domain as resolvers in several places see them.' },
  api_key: { name: 'Games', description: 'Who plays on a server, and how far away it is.' },
}

const securitySchemes: Readonly<Record<Security['kind'], object>> = {
  client: {
    type: 'http',
    scheme: 'basic',
    description: 'Client id and secret, instead of those in the body.',
  },
  access_token: { type: 'http', scheme: 'bearer', description: 'An access token.' },
  reseller_token: { type: 'http', scheme: 'bearer', description: 'A reseller token.' },
  api_key: { type: 'apiKey', in: 'header', name: 'Basic', description: 'An API key.' },
}

const requestIdParameter = {
  name: 'X-Request-Id',
  in: 'header',
  description: 'An id to find this request by. Taken if it is short and safe, else a new one is made.',
  required: false,
  schema: { type: 'string', pattern: '^[\\w.~:+/=-]{1,64}$' },
}

const headers = {
  RequestId: {
    description: 'The id of this request.',
    required: true,
    schema: { type: 'string' },
    example: 'order-1234',
  },
  NoStore: {
    description: 'The answer must not be kept.',
    required: true,
    schema: { type: 'string', const: 'no-store' },
  },
  Challenge: {
    description: 'How to authenticate, and what was wrong with the credential (RFC 6750).',
    schema: { type: 'string' },
    example: 'Bearer realm="utility-api", error="invalid_token"',
  },
  RetryAfter: {
    description: 'Seconds after which to try again.',
    required: true,
    schema: { type: 'string', pattern: '^\\d+$' },
    example: '1',
  },
  Allow: {
    description: 'The methods of this path.',
    required: true,
    schema: { type: 'string' },
    example: 'GET, HEAD, OPTIONS',
  },
}
