import { createUtilityApi, type UtilityApiOptions } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { expect, test } from 'vitest'

interface DescribedOperation {
  readonly operationId: string
  readonly security: object[]
  readonly responses: Record<string, DescribedResponse>
}

interface DescribedResponse {
  readonly description: string
  readonly content: { 'application/json': { examples?: Record<string, { value: Record<string, string> }> } }
}

interface Described {
  readonly openapi: string
  readonly servers: { url: string }[]
  readonly paths: Record<string, Record<string, DescribedOperation>>
  readonly components: { securitySchemes: Record<string, unknown> }
}

function document(options: Partial<UtilityApiOptions> = {}): Described {
  return createUtilityApi({ storage: memoryStorage(), ...options }).openapi() as unknown as Described
}

function operationIds({ paths }: Described): string[] {
  return Object.values(paths).flatMap((path) => Object.values(path).map(({ operationId }) => operationId))
}

test('it knows the prefix, and what is switched off', () => {
  const { servers, ...described } = document({ basePath: '/api', dns: false })
  expect(servers).toEqual([{ url: '/api' }])
  expect(operationIds({ servers, ...described })).toEqual([
    'exchangeToken',
    'updateLicense',
    'generateLicense',
    'lookUpGameServer',
  ])
  expect(described.components.securitySchemes).not.toHaveProperty('access_token')
})

test('no part of a document is part of another, because tools resolve references in place', () => {
  const parts = (part: unknown): unknown[] =>
    typeof part === 'object' ? [part, ...Object.values(part as object).flatMap(parts)] : []
  const first = new Set(parts(document()))
  expect(parts(document()).filter((part) => first.has(part))).toEqual([])
})

test('it names the credentials of its operations', () => {
  const { securitySchemes } = document().components
  expect(Object.keys(securitySchemes)).toEqual(['client', 'reseller_token', 'access_token', 'api_key'])
})

test('it says 403 only where a scope is required', () => {
  const responses = (requiredScope?: string): object =>
    document({ dns: { ...(requiredScope !== undefined && { requiredScope }) } }).paths[
      '/v3/tools/dnscheck'
    ]?.['get']?.responses ?? {}
  expect(responses()).not.toHaveProperty('403')
  expect(responses('dns:check')).toHaveProperty('403')
})

test('it has an example of each sentence of an error', () => {
  const operations = Object.values(document().paths).flatMap((path) => Object.values(path))
  for (const { description, content } of operations.flatMap(({ responses }) => Object.values(responses))) {
    const { examples } = content['application/json']
    if (examples === undefined) continue
    const sentences = Object.values(examples).map(({ value }) => Object.values(value)[1])
    expect([...new Set(sentences)].join(' ')).toBe(description)
  }
})

test('it lists the configured statuses', () => {
  expect(JSON.stringify(document({ licenses: { statuses: ['on', 'off'] } }))).toContain('"enum":["on","off"]')
})

test('it describes no error bodies made by the host, except at the token endpoint', () => {
  const { paths } = document({ errorBody: () => 'anything' })
  const content = { content: { 'application/json': {} } }
  expect(paths['/v3/tools/dnscheck']?.['get']?.responses['400']).toMatchObject(content)
  expect(JSON.stringify(paths['/v3/tools/dnscheck'])).not.toContain('"error"')
  expect(JSON.stringify(paths['/v4/oauth2/token'])).toContain('"invalid_grant"')
})
