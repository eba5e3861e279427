import type { OpenApiDocument } from 'utility-api'
import { resolve, type Header, type Operation, type Parameter, type Schema } from './described-operation.ts'
import { code, table } from './markdown.ts'
import { pageNotes, type PageNotes } from './operation-notes.ts'
import { samples } from './operation-samples.ts'

// A page for each HTTP operation, generated from the OpenAPI document.

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
group: ${notes.group}
---

<!-- Made by docs/site/operation-page.ts from the OpenAPI document. -->

# ${operation.summary}

\`\`\`http
${method} ${path}
\`\`\`

${operation.description} ${notes.about}

To serve it over HTTP, mount \`api.fetch\` for all five operations, or \`api.handlers.${operation.operationId}\` for this one alone. A prefix such as \`/api\` comes before the path. A typed call in your program needs no request and no credential.

## Request

${requestTable(document, operation, parameters, notes)}

${samples(method, path, operation, parameters, notes)
  .map(({ name, language, text }) => `**${name}**\n\n\`\`\`${language}\n${text}\n\`\`\``)
  .join('\n\n')}

## Answer

\`200\` and \`application/json\`:

${table(['Field', 'Type', 'Meaning'], fields(schema))}
${records(schema)}
\`\`\`json
${JSON.stringify(example, null, 2)}
\`\`\`

## Errors

${errorTable(operation)}

${errorShape(operation)} What each code means and how to fix it: [errors](../guide/errors.md).

## Answer headers

${headerTable(document, operation)}
`
}

function requestTable(
  document: OpenApiDocument,
  operation: Operation,
  parameters: readonly Parameter[],
  { credential }: PageNotes,
): string {
  const whole = operation.requestBody?.content['application/json'].schema
  // The contract's own way comes first, and has all members.
  const body = whole?.anyOf?.[0] ?? whole
  const [scheme = ''] = operation.security.flatMap((each) => Object.keys(each))
  const schemes = document.components['securitySchemes'] as Record<string, { description: string }>
  const about = schemes[scheme]?.description ?? ''
  return table(
    ['Name', 'In', 'Required', 'Meaning'],
    [
      ...(credential === undefined
        ? []
        : [[code(credential.name), 'header', 'yes', `${about} ${code(`${credential.prefix}…`)}`]]),
      ...Object.entries(body?.properties ?? {}).map(([name, schema]) => [
        code(name),
        'body',
        body?.required?.includes(name) === true ? 'yes' : 'no',
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
  // A name that counts in both cases is shown once.
  const shown = values?.filter(
    (value) => value === value.toUpperCase() || !values.includes(value.toUpperCase()),
  )
  return shown === undefined ? description : `${description} One of ${shown.map(code).join(', ')}.`
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
Every record has \`type\`, \`host\` (its owner name) and \`ttl\` (seconds). Further fields by type:

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
  return `The body is \`{ "${error}", "${text}" }\`: a code to branch on, and a sentence for people, which names the invalid header or field.`
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
