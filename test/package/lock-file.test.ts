import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { manifest } from './packed.ts'

// What `npm ci` needs on machines that are not the one the lock file was written on.

interface Entry {
  readonly version?: string
  readonly resolved?: string
  readonly gypfile?: boolean
  readonly link?: boolean
  readonly optional?: boolean
  readonly hasInstallScript?: boolean
  readonly optionalDependencies?: Record<string, string>
}

const text = readFileSync('package-lock.json', 'utf8')
const { packages } = JSON.parse(text) as { packages: Record<string, Entry> }

test('better-sqlite3 is not compiled where it is installed', () => {
  // npm 11 reads the one, npm 10 the other; its binaries are inside the package.
  expect(manifest().allowScripts['better-sqlite3']).toBe(false)
  const entries = Object.entries(packages).filter(([path]) => path.endsWith('node_modules/better-sqlite3'))
  expect(entries.map(([path, { gypfile }]) => [path, gypfile])).toEqual([
    ['node_modules/better-sqlite3', false],
  ])
})

test.each(['', 'test/clients/', 'test/compilers/', 'test/peers/'])(
  '%spackage-lock.json names no registry',
  (folder) => {
    const lock = readFileSync(`${folder}package-lock.json`, 'utf8')
    const all = Object.values((JSON.parse(lock) as { packages: Record<string, Entry> }).packages)
    expect(all.flatMap((entry) => (entry.link === true ? [] : (entry.resolved ?? [])))).toEqual([])
    expect(lock).not.toMatch(/https?:\/\/registry\./)
  },
)

test('it has the binaries of every platform', () => {
  const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter((name) => !isLocked(path, name))
      .map((name) => `${path} > ${name}`),
  )
  expect(missing).toEqual([])
})

/** Looks where Node would: beside the package, then in every folder above it. */
function isLocked(from: string, name: string): boolean {
  const parts = from.split('/node_modules/')
  const places = parts.map((_, at) => parts.slice(0, at + 1).join('/node_modules/'))
  return [...places.map((place) => `${place}/node_modules/${name}`), `node_modules/${name}`].some(
    (path) => packages[path] !== undefined,
  )
}

test('every install script is allowed or denied', () => {
  const scripts = Object.entries(packages)
    .filter(([, entry]) => entry.hasInstallScript === true)
    .map(([path]) => path.split('node_modules/').at(-1) ?? '')
  const { allowScripts } = manifest()
  expect([...new Set(scripts)].filter((name) => allowScripts[name] === undefined)).toEqual([])
})

test('nothing else is installed with the package, so no install script of others runs there', () => {
  const { version: _, ...kinds } = packages[''] as Record<string, unknown>
  const installed = Object.keys(kinds).filter((kind) => /^(?!dev).*dependencies$/i.test(kind))
  expect(installed).toEqual([])
})

test('the examples ask for the version that is here, as a copy of one must', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
  expect([packages['']?.version, packages['node_modules/utility-api']?.link]).toEqual([version, true])
  const asked = globSync('examples/*/package.json').map((file) => {
    const { dependencies } = JSON.parse(readFileSync(file, 'utf8')) as {
      dependencies: Record<string, string>
    }
    return `${file}: ${dependencies['utility-api']}`
  })
  const [major = ''] = version.split('.')
  expect(asked.filter((line) => !line.endsWith(`: ^${major}.0.0`))).toEqual([])
  expect(asked.length).toBeGreaterThan(15)
})
