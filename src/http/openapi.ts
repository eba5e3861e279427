import { z } from 'zod'
import type { AnyOperation, Parameter, Security } from '../operations/operation.ts'

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
  /** The operations by path and method. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  /** Security schemes and shared schemas. */
  readonly components: Readonly<Record<string, unknown>>
}

type JsonSchema = { properties?: Record<string, object>; required?: string[] } & Record<string, unknown>

/** Describes a table of operations: one source for what is served and what is documented. */
export function openApiDocument(operations: readonly AnyOperation[], basePath: string): OpenApiDocument {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Utility API',
      version: '1.0.0',
      description: 'OAuth token exchange, reseller licences, DNS check and game server lookup.',
    },
    servers: [{ url: basePath === '' ? '/' : basePath }],
    paths: Object.fromEntries(
      operations.map((operation) => [
        operation.path,
        { [operation.method.toLowerCase()]: describe(operation) },
      ]),
    ),
    components: { securitySchemes, schemas: errorSchemas },
  }
}

function describe(operation: AnyOperation): object {
  const input = schemaOf(operation.input, 'input')
  const parameters = Object.entries<Parameter>(operation.parameters)
  const inBody = parameters.filter(([, parameter]) => parameter.in === 'body')
  const outside = parameters.filter(([, parameter]) => parameter.in !== 'body')
  return {
    operationId: operation.id,
    summary: operation.summary,
    security: securityOf(operation.security),
    ...(outside.length > 0 && {
      parameters: outside.map(([field, parameter]) => parameterOf(field, parameter, input)),
    }),
    ...(inBody.length > 0 && { requestBody: bodyOf(inBody, input) }),
    responses: {
      200: {
        description: 'Done.',
        content: { 'application/json': { schema: schemaOf(operation.output, 'output') } },
      },
      ...errorResponses(operation),
    },
  }
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' })
  return rest as JsonSchema
}

function parameterOf(field: string, { in: place, name, description }: Parameter, input: JsonSchema): object {
  const required = input.required?.includes(field) ?? false
  return { name, in: place, description, required, schema: input.properties?.[field] ?? {} }
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
  return {
    required: true,
    content: { 'application/json': { schema }, 'application/x-www-form-urlencoded': { schema } },
  }
}

function securityOf({ kind }: Security): object[] {
  return kind === 'client' ? [{}, { client: [] }] : [{ [kind]: [] }]
}

const securitySchemes = {
  client: { type: 'http', scheme: 'basic', description: 'Client credentials, instead of those in the body.' },
  access_token: { type: 'http', scheme: 'bearer', description: 'An access token.' },
  reseller_token: { type: 'http', scheme: 'bearer', description: 'A reseller token.' },
  api_key: { type: 'apiKey', in: 'header', name: 'Basic', description: 'An API key.' },
}

const errorSchemas = {
  Error: {
    type: 'object',
    properties: {
      error: { type: 'string', description: 'A stable code.' },
      message: { type: 'string', description: 'One sentence for people.' },
    },
    required: ['error', 'message'],
  },
  OAuthError: {
    type: 'object',
    properties: {
      error: { type: 'string', description: 'A code of RFC 6749 section 5.2.' },
      error_description: { type: 'string', description: 'One sentence for people.' },
    },
    required: ['error', 'error_description'],
  },
}

const conditions: Record<Security['kind'], Record<number, string>> = {
  client: {
    400: 'The request or the grant is invalid.',
    401: 'Client authentication failed.',
    413: 'The body is too large.',
    415: 'The body is neither JSON nor a form.',
  },
  reseller_token: {
    400: 'Fields are missing or invalid.',
    401: 'The reseller token is invalid or does not match.',
  },
  access_token: {
    400: 'Domain or record type is missing or invalid.',
    401: 'The access token is invalid.',
    403: 'The access token lacks the scope.',
  },
  api_key: {
    400: 'The address is missing, invalid or not allowed.',
    401: 'The API key is invalid, missing or lacks the permission.',
  },
}

function errorResponses({ id, security }: AnyOperation): object {
  const descriptions: Record<number, string> = {
    ...conditions[security.kind],
    ...(id === 'updateLicense' && { 404: 'The licence does not exist.' }),
    ...(id === 'generateLicense' && { 422: 'The Idempotency-Key was sent before with other fields.' }),
    429: 'Too many requests.',
    500: id === 'lookUpGameServer' ? 'Database error, or the server check failed.' : 'Database error.',
    503: 'The service is overloaded or shutting down.',
  }
  const schema = { $ref: `#/components/schemas/${security.kind === 'client' ? 'OAuthError' : 'Error'}` }
  return Object.fromEntries(
    Object.entries(descriptions).map(([status, description]) => [
      status,
      { description, content: { 'application/json': { schema } } },
    ]),
  )
}
