import type { Operation, Parameter } from './described-operation.ts'
import type { PageNotes } from './operation-notes.ts'

/** A request, written in one of the ways to send it. */
export interface Sample {
  readonly name: string
  readonly language: string
  readonly text: string
}

/** The request of an operation's examples, in every way that is shown. */
export function samples(
  method: string,
  path: string,
  operation: Operation,
  parameters: readonly Parameter[],
  { credential, typedCall }: PageNotes,
): Sample[] {
  const examples = Object.fromEntries(parameters.map(({ name, example = '' }) => [name, example]))
  const url = `http://localhost:3000${path.replaceAll(/\{(\w+)\}/g, (_, name) => examples[name] ?? '')}`
  const body = operation.requestBody?.content['application/json'].example
  const sent = parameters.flatMap(({ in: where, name, example }): [string, string][] =>
    where === 'header' && example !== undefined ? [[name, example]] : [],
  )
  const headers = body === undefined ? sent : [...sent, ['Content-Type', 'application/json'] as const]
  const secret = credential?.variable
  const prefix = credential?.prefix === '' ? '' : `'${credential?.prefix}'`

  const curl = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${url}`,
    ...(credential ? [`-H "${credential.name}: ${credential.prefix}$${secret}"`] : []),
    ...headers.map(([name, value]) => `-H '${name}: ${value}'`),
    ...(body === undefined ? [] : [`-d '${JSON.stringify(body, null, 2).replaceAll('\n', '\n  ')}'`]),
  ].join(' \\\n  ')

  const fetch = `const response = await fetch('${url}', {
  ${method === 'GET' ? '' : `method: '${method}',`}
  headers: { ${[
    ...(credential ? [`${credential.name}: \`${credential.prefix}\${process.env['${secret}']}\``] : []),
    ...headers.map(([name, value]) => `'${name}': '${value}'`),
  ].join(', ')} },
  ${body === undefined ? '' : `body: JSON.stringify(${JSON.stringify(body)}),`}
})
console.log(response.status, await response.json())`

  const php = `<?php
$context = stream_context_create(['http' => [
    'method' => '${method}',
    'header' => [${listed([
      ...(credential ? [`'${credential.name}: ${credential.prefix}' . getenv('${secret}')`] : []),
      ...headers.map(([name, value]) => `'${name}: ${value}'`),
    ])}],${body === undefined ? '' : `\n    'content' => json_encode([${listed(pairs(body, ' =>'))}]),`}
    'ignore_errors' => true,
]]);
print_r(json_decode(file_get_contents('${url}', false, $context), true));`

  const python = `import json${credential ? '\nimport os' : ''}
from urllib.request import Request, urlopen

request = Request(
    '${url}',
    method='${method}',
    headers={${listed([
      ...(credential ? [`'${credential.name}': ${prefix}${prefix && ' + '}os.environ['${secret}']`] : []),
      ...pairs(Object.fromEntries(headers), ':'),
    ])}},${body === undefined ? '' : `\n    data=json.dumps({${listed(pairs(body, ':'))}}).encode(),`}
)
with urlopen(request) as response:
    print(response.status, json.load(response))`

  return [
    { name: 'curl', language: 'sh', text: curl },
    { name: 'fetch', language: 'ts', text: fetch },
    { name: 'Typed call', language: 'ts', text: typedCall(fieldsOf(sent), examples) },
    { name: 'PHP', language: 'php', text: php },
    { name: 'Python', language: 'python', text: python },
  ]
}

/** The fields of a typed call: X-Domain-Or-IP is domainOrIp there. */
function fieldsOf(headers: readonly (readonly [string, string])[]): string {
  const fields = headers.map(([header, value]) => {
    const name = header
      .toLowerCase()
      .replace(/^x-/, '')
      .replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
    return `${name}: ${/^\d+$/.test(value) ? value : `'${value}'`}`
  })
  return fields.join(', ')
}

function pairs(values: Readonly<Record<string, string>>, joint: string): string[] {
  return Object.entries(values).map(([name, value]) => `'${name}'${joint} '${value}'`)
}

/** The elements of a list, each in a line of its own. */
function listed(elements: readonly string[]): string {
  return `\n${elements.map((element) => `        ${element},\n`).join('')}    `
}
