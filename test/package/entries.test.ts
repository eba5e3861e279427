import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

// The paths of tsconfig.json say what the entries of the package are; the build reads them. A new entry is written
// there, and these tests say where else it belongs.

const root = join(import.meta.dirname, '../..')

function read<Content>(name: string): Content {
  return JSON.parse(readFileSync(join(root, name), 'utf8')) as Content
}

const { compilerOptions } = read<{ compilerOptions: { paths: Record<string, string[]> } }>('tsconfig.json')
const entries = Object.entries(compilerOptions.paths).map(([specifier, [source = '']]) => ({
  subpath: specifier.replace(/^utility-api/, '.'),
  source: source.replace(/^\.\//, ''),
}))
const sources = entries.map(({ source }) => source)

test('package.json exports each entry as it is built', () => {
  const built = entries.map(({ subpath }) => {
    const file = `./dist/${subpath === '.' ? 'index' : subpath.slice(2)}`
    return [subpath, { types: `${file}.d.ts`, default: `${file}.js` }]
  })
  expect(Object.entries(read<{ exports: object }>('package.json').exports)).toEqual([
    ...built,
    ['./package.json', './package.json'],
  ])
})

test('compilers that do not read exports find each entry as well', () => {
  const { exports, ...read10 } = read<{
    main: string
    types: string
    exports: Record<string, { types: string; default: string }>
    typesVersions: Record<string, Record<string, string[]>>
  }>('package.json')
  const { '.': main, './package.json': _, ...others } = exports
  expect([read10.main, read10.types]).toEqual([main?.default, main?.types])
  expect(Object.entries(read10.typesVersions['*'] ?? {})).toEqual(
    Object.entries(others).map(([subpath, { types }]) => [subpath.slice(2), [types]]),
  )
})

test('the reference has each entry', () => {
  expect(read<{ entryPoints: string[] }>('typedoc.json').entryPoints).toEqual(sources)
})

test('the search for unused code starts at each entry', () => {
  const { workspaces } = read<{ workspaces: Record<string, { entry: string[] }> }>('.knip.json')
  const patterns = workspaces['.']?.entry.filter((pattern) => /^(?:src|adapters)\//.test(pattern)) ?? []
  expect(globSync(patterns, { cwd: root }).toSorted()).toEqual(sources.toSorted())
})

test('the command may import each entry, and nothing beside it', () => {
  const { forbidden } = read<{ forbidden: { name: string; to: { pathNot: string[] } }[] }>(
    '.dependency-cruiser.json',
  )
  const rule = forbidden.find(({ name }) => name === 'command-line-knows-entries-only')
  const allowed = rule?.to.pathNot.filter((path) => !path.startsWith('^adapters/cli')) ?? []
  const files = globSync(['src/**/*.ts', 'adapters/{http,storage}/**/*.ts'], { cwd: root })
  const permitted = files.filter((file) => allowed.some((path) => new RegExp(path).test(file)))
  // Files beside the entries that are none, such as settings.ts, load no more than the entries do.
  expect(permitted.filter((file) => !/^src\/[^/]+$/.test(file)).toSorted()).toEqual(
    sources.filter((source) => source.startsWith('adapters/')).toSorted(),
  )
  expect(permitted).toEqual(expect.arrayContaining(sources))
})
