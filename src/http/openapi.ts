import * as z from 'zod'
import type { Refusal } from '../domain/errors.ts'
import { inputProblem } from '../operations/input-problem.ts'
import type { Operation, Parameter } from '../operations/operation.ts'
import type { Scheme, SchemeBody } from '../security/scheme.ts'
import { safeRequestId } from './call.ts'
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
  /** Title, version and description of the API, and the license of the document. */
  readonly info: {
    readonly title: string
    readonly version: string
    readonly description: string
    readonly license: { readonly name: string; readonly identifier: string }
  }
  /** The URL that the paths are relative to. */
  readonly servers: readonly { readonly url: string }[]
  /** The groups of operations. */
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  /** The operations by path and method. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  /** Security schemes, shared headers and parameters. */
  readonly components: Readonly<Record<string, unknown>>
}

export interface OpenApiOptions {
  readonly basePath: string
  /** Whether the host creates the error bodies, in which case the document cannot describe them. */
  readonly ownErrorBodies: boolean
}

/** An operation of the document, and the shared parts it needs. */
export interface OperationDescription {
  readonly path: string
  readonly method: string
  readonly tag: { readonly name: string; readonly description: string }
  /** The security scheme by its name. */
  readonly schemes: Readonly<Record<string, object>>
  readonly operation: object
}

type JsonSchema = { properties?: Record<string, object>; required?: string[] } & Record<string, unknown>

/** Returns the document for these operations. */
export function openApiDocument(
  operations: readonly OperationDescription[],
  basePath: string,
): OpenApiDocument {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Utility API',
      version: '1.0.0',
      description: 'OAuth token exchange, reseller licenses, DNS check and game server lookup.',
      license: { name: 'MIT License', identifier: 'MIT' },
    },
    servers: [{ url: basePath === '' ? '/' : basePath }],
    tags: [...new Map(operations.map(({ tag }) => [tag.name, tag])).values()],
    paths: Object.fromEntries(
      operations.map(({ path, method, operation }) => [path, { [method]: operation }]),
    ),
    components: {
      securitySchemes: Object.assign({}, ...operations.map(({ schemes }) => schemes)) as object,
      parameters: { RequestId: requestIdParameter },
      headers,
    },
  }
}

/** Describes an operation and the scheme of its callers, from the same constants that the service uses. */
export function describeOperation<Input, Output, Caller>(
  operation: Operation<Input, Output, Caller>,
  scheme: Scheme<Caller>,
  { ownErrorBodies }: OpenApiOptions,
): OperationDescription {
  const { path, method, tag } = operation
  const input = jsonSchema(operation.input, 'input')
  const parameters = Object.entries<Parameter>(operation.parameters)
  const inBody = parameters.filter(([, parameter]) => parameter.in === 'body')
  const outside = parameters.filter(([, parameter]) => parameter.in !== 'body')
  const members = [
    ...inBody.map(([field, parameter]) =>
      memberOf(parameter, input.properties?.[field], isRequired(input, field)),
    ),
    ...scheme.parameters.map((parameter) => ({
      ...memberOf(parameter, jsonSchema(parameter.schema, 'input'), false),
      isShown: true,
    })),
  ]
  return {
    path,
    method: method.toLowerCase(),
    tag,
    schemes: { [scheme.name]: scheme.openapi.scheme },
    operation: {
      operationId: operation.id,
      summary: operation.summary,
      description: operation.description,
      tags: [operation.tag.name],
      // No document can say that the header is needed unless the body has the credential.
      security: [{ [scheme.name]: [] }, ...(scheme.parameters.length > 0 ? [{}] : [])],
      parameters: [
        ...outside.map(([field, parameter]) =>
          parameterOf(parameter, input.properties?.[field], isRequired(input, field)),
        ),
        { $ref: '#/components/parameters/RequestId' },
      ],
      ...(members.length > 0 && { requestBody: bodyOf(members, scheme.openapi.bodies) }),
      responses: {
        200: {
          description: 'What was asked for.',
          headers: sharedHeaders,
          content: {
            'application/json': {
              schema: jsonSchema(operation.output(), 'output'),
              example: operation.example,
            },
          },
        },
        ...errorResponses(operation, scheme, {
          refusals: [
            ...inputRefusals(operation),
            ...scheme.refusals(operation.permission),
            ...operation.refusals,
          ],
          hasBody: members.length > 0,
          sharedHeaders,
          ownErrorBodies,
        }),
      },
    },
  }
}

/** Returns the refusal of a request that has only its path, or nothing if the operation needs no more. */
function inputRefusals<Input, Output, Caller>(operation: Operation<Input, Output, Caller>): Refusal[] {
  const parameters = Object.entries<Parameter>(operation.parameters)
  const inPath = parameters.filter(([, parameter]) => parameter.in === 'path')
  const result = operation.input.safeParse(
    Object.fromEntries(inPath.map(([field, { example }]) => [field, example])),
  )
  return result.success ? [] : [inputProblem(parameters, result.error)]
}

function isRequired(input: JsonSchema, field: string): boolean {
  return input.required?.includes(field) ?? false
}

function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any', override: tidy })
  return rest as JsonSchema
}

/** Removes what zod adds unintentionally: the bounds of JavaScript's integers and the ban on additional members. */
function tidy({ jsonSchema: schema }: { jsonSchema: Record<string, unknown> }): void {
  if (schema['minimum'] === Number.MIN_SAFE_INTEGER) delete schema['minimum']
  if (schema['maximum'] === Number.MAX_SAFE_INTEGER) delete schema['maximum']
  delete schema['additionalProperties']
}

function parameterOf(parameter: Parameter, schema: object = {}, required: boolean): object {
  const { in: location, name, description, example } = parameter
  return { name, in: location, description, required, schema, ...(example !== undefined && { example }) }
}

/** A member of a body. */
interface Member {
  readonly name: string
  readonly schema: object
  readonly required: boolean
  /** Whether the example of the body has it. */
  readonly isShown: boolean
  readonly example: string | undefined
}

function memberOf(parameter: Parameter, schema: object = {}, required: boolean): Member {
  const { name, description, example } = parameter
  return { name, schema: { ...schema, description }, required, isShown: required, example }
}

function bodyOf(members: readonly Member[], bodies: readonly SchemeBody[] | undefined): object {
  const content = {
    schema:
      bodies === undefined ? schemaOf(members) : { anyOf: bodies.map((body) => schemaOf(members, body)) },
    example: Object.fromEntries(
      members.filter(({ isShown }) => isShown).map(({ name, example }) => [name, example]),
    ),
  }
  return {
    required: true,
    content: { 'application/json': content, 'application/x-www-form-urlencoded': content },
  }
}

function schemaOf(members: readonly Member[], body?: SchemeBody): object {
  const shown = members.filter(({ name }) => body?.without?.includes(name) !== true)
  const isRequiredHere = ({ name, required }: Member): boolean =>
    required || body?.required.includes(name) === true
  return {
    ...(body !== undefined && { title: body.title }),
    type: 'object',
    properties: Object.fromEntries(shown.map(({ name, schema }) => [name, schema])),
    required: shown.filter(isRequiredHere).map(({ name }) => name),
  }
}

const sharedHeaders = {
  'X-Request-Id': { $ref: '#/components/headers/RequestId' },
  'Cache-Control': { $ref: '#/components/headers/NoStore' },
  'X-Content-Type-Options': { $ref: '#/components/headers/NoSniff' },
}

const requestIdParameter = {
  name: 'X-Request-Id',
  in: 'header',
  description:
    'An id to find this request by: 1 to 64 letters, digits and `_.~:+/=-`. Anything else is replaced by a new id.',
  required: false,
  schema: { type: 'string' },
}

const headers = {
  RequestId: header('The id of this request.', { pattern: safeRequestId.source }, 'order-1234'),
  NoStore: header('The answer must not be cached.', { const: 'no-store' }),
  NoSniff: header('The answer is what its Content-Type says.', { const: 'nosniff' }),
  RetryAfter: header('Seconds after which to try again.', { pattern: '^\\d+$' }, '1'),
  Allow: header('The methods of this path.', {}, 'GET, HEAD, OPTIONS'),
}

function header(description: string, rules: object, example?: string): object {
  const schema = { type: 'string', ...rules }
  return { description, required: true, schema, ...(example !== undefined && { example }) }
}
