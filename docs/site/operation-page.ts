import type { OpenApiDocument } from 'utility-api'
import { code, table } from './markdown.ts'

// A page for each HTTP operation, out of the OpenAPI document that the library makes of what it serves.

interface Schema {
  readonly type?: string
  readonly const?: string
  readonly enum?: readonly string[]
  readonly description?: string
  readonly items?: Schema
  readonly oneOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
}

interface Parameter {
  readonly name: string
  readonly in: 'path' | 'header'
  readonly description: string
  readonly required: boolean
  readonly schema: Schema
  readonly example?: string
}

interface Header {
  readonly description: string
  readonly example?: string
  readonly schema: Schema
}

interface Reference {
  readonly $ref: string
}

interface Answer {
  readonly headers: Readonly<Record<string, Reference>>
  readonly content: {
    readonly 'application/json': {
      readonly schema: Schema
      readonly example?: unknown
      readonly examples?: Readonly<Record<string, { readonly value: Readonly<Record<string, string>> }>>
    }
  }
}

interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly security: readonly Readonly<Record<string, unknown>>[]
  readonly parameters: readonly (Parameter | Reference)[]
  readonly requestBody?: {
    readonly content: {
      readonly 'application/json': {
        readonly schema: Schema
        readonly example: Readonly<Record<string, string>>
      }
    }
  }
  readonly responses: Readonly<Record<string, Answer>>
}

/** What the document cannot know: the page's name, the way on, and how a credential is carried. */
export interface PageNotes {
  readonly file: string
  readonly title: string
  /** Markdown. */
  readonly about: string
  /** The header of the credential, and the variable that samples take it from; none where it stands in the body. */
  readonly credential?: { readonly name: string; readonly prefix: string; readonly variable: string }
}

/** The pages by operation. */
export const pageNotes: Readonly<Record<string, PageNotes>> = {
  exchangeToken: {
    file: 'exchange-token.md',
    title: 'Exchange a code for a token',
    about:
      'The second half of an OAuth 2.0 authorization code round: the client gives the code that it got at its redirection URI, and gets an access token. A code buys one token, however often and wherever it is sent. Body as JSON or as a form; the client may send its id and secret as HTTP Basic instead of in the body. The whole round, with a picture: [credentials and authorization](../guide/authorization.md).',
  },
  updateLicense: {
    file: 'update-license.md',
    title: 'Update a license',
    about:
      'Changes what is sent and nothing else, in one statement that also checks whose license it is. At least one of the three headers must be there, and one bad header refuses the whole update. No body. More: [licenses](../guide/licenses.md).',
    credential: { name: 'Authorization', prefix: 'Bearer ', variable: 'RESELLER_TOKEN' },
  },
  generateLicense: {
    file: 'generate-license.md',
    title: 'Generate a license',
    about:
      'Makes a license with a new key, which belongs to the reseller of the token. Send an `Idempotency-Key` whenever your program retries: idempotency means that the repeat gets the first answer instead of a second license. No body. More: [licenses](../guide/licenses.md).',
    credential: { name: 'Authorization', prefix: 'Bearer ', variable: 'RESELLER_TOKEN' },
  },
  checkDns: {
    file: 'check-dns.md',
    title: 'Check DNS',
    about:
      'Asks every configured resolver for the records of a domain. The answer has one element for each location, in the configured order, whatever happens to a resolver. Statuses, locations and a picture: [DNS check](../guide/dns.md). 403 is answered only where [`dns.requiredScope`](../guide/options.md) is set.',
    credential: { name: 'Authorization', prefix: 'Bearer ', variable: 'ACCESS_TOKEN' },
  },
  lookUpGameServer: {
    file: 'look-up-game-server.md',
    title: 'Look up a game server',
    about:
      'Asks a block-game server what its players see in their server list. The header that carries the API key is called `Basic`. A server that is down is a 500 `server_check_failed`: [show it as offline](../guide/blockgame.md#show-a-server-that-is-down-as-offline). More: [block-game servers](../guide/blockgame.md).',
    credential: { name: 'Basic', prefix: '', variable: 'API_KEY' },
  },
}

/** Every operation's page, by file name. */
export function operationPages(document: OpenApiDocument): Map<string, string> {
  return new Map(
    Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]): [string, string] => {
        const notes = pageNotes[(operation as Operation).operationId]
        if (notes === undefined) throw new Error(`${path} has no page.`)
        return [notes.file, page(document, method.toUpperCase(), path, operation as Operation, notes)]
      }),
    ),
  )
}

function page(
  document: OpenApiDocument,
  method: string,
  path: string,
  operation: Operation,
  notes: PageNotes,
): string {
  const parameters = operation.parameters.map((each) => resolve<Parameter>(document, each))
  const answer = operation.responses['200']
  if (answer === undefined) throw new Error(`${operation.operationId} has no answer.`)
  const { schema, example } = answer.content['application/json']
  return `---
title: ${notes.title}
---

<!-- Made by docs/site/operation-page.ts from the OpenAPI document. -->

# ${operation.summary}

\`\`\`http
${method} ${path}
\`\`\`

${notes.about}

In a program of yours: \`api.handlers.${operation.operationId}\`, or \`api.fetch\` for all five.

## Request

${requestTable(document, operation, parameters, notes)}

### curl

\`\`\`sh
${curl(method, path, operation, parameters, notes)}
\`\`\`

### fetch

\`\`\`ts
${fetchSample(method, path, operation, parameters, notes)}
\`\`\`

## Answer

\`200\` and \`application/json\`:

${table(['Field', 'Type', 'Meaning'], fields(schema))}
${records(schema)}
\`\`\`json
${JSON.stringify(example, null, 2)}
\`\`\`

## Errors

${errorTable(operation)}

${errorShape(operation)} What each code means and what helps: [errors](../guide/errors.md).

## Headers of the answers

${headerTable(document, operation)}
`
}

function resolve<Type>(document: OpenApiDocument, value: Type | Reference): Type {
  const reference = (value as Partial<Reference>).$ref
  if (reference === undefined) return value as Type
  const [, , kind = '', name = ''] = reference.split('/')
  return (document.components[kind] as Record<string, Type>)[name] as Type
}

function requestTable(
  document: OpenApiDocument,
  operation: Operation,
  parameters: readonly Parameter[],
  { credential }: PageNotes,
): string {
  const body = operation.requestBody?.content['application/json']
  const [scheme = ''] = operation.security.flatMap((each) => Object.keys(each))
  const schemes = document.components['securitySchemes'] as Record<string, { description: string }>
  const about = schemes[scheme]?.description ?? ''
  return table(
    ['Name', 'In', 'Required', 'Meaning'],
    [
      ...(credential === undefined
        ? []
        : [[code(credential.name), 'header', 'yes', `${about} ${code(`${credential.prefix}…`)}`]]),
      ...Object.entries(body?.schema.properties ?? {}).map(([name, schema]) => [
        code(name),
        'body',
        body?.schema.required?.includes(name) === true ? 'yes' : 'no',
        meaning(schema),
      ]),
      ...parameters.map(({ name, in: place, required, schema, description }) => [
        code(name),
        place,
        required ? 'yes' : 'no',
        meaning({ ...schema, description }),
      ]),
    ],
  )
}

function meaning({ description = '', enum: values, const: only }: Schema): string {
  if (only !== undefined) return `${description} Always ${code(only)}.`
  return values === undefined ? description : `${description} One of ${values.map(code).join(', ')}.`
}

/** The headers that a sample sends. */
function sampleHeaders(parameters: readonly Parameter[]): Parameter[] {
  return parameters.filter((parameter) => parameter.in === 'header' && parameter.example !== undefined)
}

function sampleUrl(path: string, parameters: readonly Parameter[]): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => {
    return parameters.find((parameter) => parameter.name === name)?.example ?? ''
  })
  return `http://localhost:3000${filled}`
}

function curl(
  method: string,
  path: string,
  operation: Operation,
  parameters: readonly Parameter[],
  { credential }: PageNotes,
): string {
  const body = operation.requestBody?.content['application/json']
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${sampleUrl(path, parameters)}`,
    ...(credential ? [`-H "${credential.name}: ${credential.prefix}$${credential.variable}"`] : []),
    ...sampleHeaders(parameters).map(({ name, example }) => `-H '${name}: ${example}'`),
    ...(body === undefined ? [] : [`-H 'Content-Type: application/json'`, `-d '${indented(body.example)}'`]),
  ]
  return lines.join(' \\\n  ')
}

function fetchSample(
  method: string,
  path: string,
  operation: Operation,
  parameters: readonly Parameter[],
  { credential }: PageNotes,
): string {
  const body = operation.requestBody?.content['application/json']
  const headers = [
    ...(credential
      ? [`${credential.name}: \`${credential.prefix}\${process.env['${credential.variable}']}\``]
      : []),
    ...sampleHeaders(parameters).map(({ name, example }) => `'${name}': '${example}'`),
    ...(body === undefined ? [] : [`'Content-Type': 'application/json'`]),
  ]
  return `const response = await fetch('${sampleUrl(path, parameters)}', {
  ${method === 'GET' ? '' : `method: '${method}',\n  `}headers: { ${headers.join(', ')} },
  ${body === undefined ? '' : `body: JSON.stringify(${indented(body.example)}),`}
})
console.log(response.status, await response.json())`
}

function indented(value: unknown): string {
  return JSON.stringify(value, null, 2).replaceAll('\n', '\n  ')
}

/** The fields of an answer, those inside others behind a dot. */
function fields(schema: Schema, before = ''): string[][] {
  if (schema.items !== undefined && before === '') return fields(schema.items, '[].')
  return Object.entries(schema.properties ?? {}).flatMap(([name, each]) => {
    const optional = schema.required?.includes(name) !== true
    const type = each.items?.type === undefined ? (each.type ?? '') : `array of ${each.items.type}s`
    const row = [code(`${before}${name}`), optional ? `${type}, optional` : type, meaning(each)]
    return [row, ...fields(each.items ?? each, `${before}${name}${each.items ? '[]' : ''}.`)]
  })
}

/** The fields of each record type, where the answer has records. */
function records({ items }: Schema): string {
  const variants = items?.properties?.['dns_results']?.items?.oneOf
  if (variants === undefined) return ''
  const shared = new Set(['type', 'host', 'ttl'])
  const rows = variants.map(({ properties = {} }) => [
    code(properties['type']?.enum?.join(', ') ?? ''),
    Object.entries(properties)
      .filter(([name]) => !shared.has(name))
      .map(([name, { description = '' }]) => `${code(name)}: ${description}`)
      .join('<br>'),
  ])
  return `
Every record has \`type\`, \`host\` (its owner name) and \`ttl\` (seconds). Beside them, by type:

${table(['Type', 'Further fields'], rows)}
`
}

function errorTable({ responses }: Operation): string {
  const rows = Object.entries(responses).flatMap(([status, { content }]) =>
    Object.values(content['application/json'].examples ?? {}).map(({ value }) => {
      const [error = '', text = ''] = Object.values(value)
      return [status, code(error), text]
    }),
  )
  return table(['Status', '`error`', 'For example'], rows)
}

function errorShape({ responses }: Operation): string {
  const [error, text] = Object.keys(responses['500']?.content['application/json'].schema.properties ?? {})
  return `The body is \`{ "${error}", "${text}" }\`: the code to branch on, and one sentence for people, which names the header or field that is wrong.`
}

function headerTable(document: OpenApiDocument, { responses }: Operation): string {
  const statuses = new Map<string, string[]>()
  const described = new Map<string, Header>()
  for (const [status, { headers }] of Object.entries(responses))
    for (const [name, reference] of Object.entries(headers)) {
      statuses.set(name, [...(statuses.get(name) ?? []), status])
      described.set(name, resolve<Header>(document, reference))
    }
  const all = Object.keys(responses).length
  const rows = [...described].map(([name, { description, example, schema }]) => {
    const on = statuses.get(name) ?? []
    const value = example ?? schema.const
    return [
      code(name),
      on.length === all ? 'all' : on.join(', '),
      value === undefined ? description : `${description} For example ${code(value)}.`,
    ]
  })
  return table(['Header', 'On', 'Meaning'], rows)
}
