import type { Operation, Parameter } from './described-operation.ts'
import type { PageNotes } from './operation-notes.ts'

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

export function curl(
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

export function fetchSample(
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
