import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import * as blockgame from 'utility-api/blockgame'
import * as testing from 'utility-api/testing'
import { describe, expect, test } from 'vitest'
import { ofTheApi } from './support/of-api.ts'
import { ofClients } from './support/of-clients.ts'
import { ofTheLibrary } from './support/of-library.ts'
import { ofMounts } from './support/of-mounts.ts'
import { ofStores } from './support/of-stores.ts'
import { ofTesting } from './support/of-testing.ts'

// What a beginner gets wrong is answered with the line to write, by each function that the package exports.

const table = { ...ofTheLibrary, ...ofTheApi, ...ofMounts, ...ofStores, ...ofClients, ...ofTesting }

async function errorOf(call: () => unknown): Promise<Error> {
  try {
    await call()
  } catch (error) {
    return error as Error
  }
  return expect.fail('nothing was thrown')
}

describe.each(Object.entries(table).filter(([, mistakes]) => mistakes.length > 0))('%s', (_, mistakes) => {
  test.each(mistakes)('with %s says what to write', async (_what, call, says) => {
    const error = await errorOf(call)
    expect(error.message).toBe(says)
    const { code, kind, argument } = error as { code?: unknown; kind?: unknown; argument?: string }
    if (code === 'invalid_argument') expect(says).toBe(`${argument}${says.slice(argument?.length)}`)
    expect(argument ?? 'none').toMatch(code === 'invalid_argument' ? /^[a-z]\w*(?:\.\w+)*$/ : /^none$/)
    expect(code ?? kind).toBeOneOf([
      'invalid_options',
      'invalid_argument',
      'invalid_request',
      'bug',
      'invalid',
    ])
  })
})

/** What takes anything, or takes what its types say, as the codecs of DNS and of the game do. */
const exempt = new Set([
  'isPublicAddress',
  'UtilityApiError',
  'StorageError',
  'ServerCheckError',
  'PacketReader',
  'encodeQuery',
  'readAnswer',
  ...Object.keys(blockgame).filter((name) => /^(?:encode|parse|read|write|legacy|varInt)/.test(name)),
  ...Object.keys(testing).filter((name) => name.startsWith('encode')),
])

test('every function that the package exports is in the table', async () => {
  const { compilerOptions } = JSON.parse(readFileSync('tsconfig.json', 'utf8')) as {
    compilerOptions: { paths: Record<string, [string]> }
  }
  const entries = await Promise.all(
    Object.values(compilerOptions.paths).map(([path]) => import(pathToFileURL(path).href) as Promise<object>),
  )
  const functions = entries.flatMap((entry) =>
    Object.entries(entry).flatMap(([name, value]) => (typeof value === 'function' ? [name] : [])),
  )
  const missing = [...new Set(functions)].filter((name) => !(name in table) && !exempt.has(name))
  expect(functions.length).toBeGreaterThan(20)
  expect(missing).toEqual([])
})
