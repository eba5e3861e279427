// Changesets knows the packages of workspaces only, and npm warns of a root that is one: it is one while this runs.
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'

interface Manifest {
  version: string
  workspaces: string[]
}

interface Dependent {
  dependencies?: Record<string, string>
}

interface Lock {
  version: string
  packages: Record<string, Dependent>
}

function change<Content>(file: string, changed: (content: Content) => Content): void {
  const content = JSON.parse(readFileSync(file, 'utf8')) as Content
  writeFileSync(file, `${JSON.stringify(changed(content), null, 2)}\n`)
}

change<Manifest>('package.json', (manifest) => ({ ...manifest, workspaces: [...manifest.workspaces, '.'] }))
const { status } = spawnSync('changeset', process.argv.slice(2), { stdio: 'inherit' })
change<Manifest>('package.json', (manifest) => ({
  ...manifest,
  workspaces: manifest.workspaces.filter((each) => each !== '.'),
}))

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest

/** Makes an example ask for this major version: npm would look in the registry for any other. */
function withRange<Type extends Dependent>(example: Type): Type {
  const { dependencies } = example
  if (dependencies?.['utility-api'] === undefined) return example
  const [major] = version.split('.')
  return { ...example, dependencies: { ...dependencies, 'utility-api': `^${major}.0.0` } }
}

for (const file of globSync('examples/*/package.json')) change<Dependent>(file, withRange)
// npm would write the lock file anew, without what makes older versions of it not compile better-sqlite3.
change<Lock>('package-lock.json', (lock) => {
  const packages = Object.entries(lock.packages).map(([path, entry]) => [path, withRange(entry)] as const)
  return {
    ...lock,
    version,
    packages: { ...Object.fromEntries(packages), '': { ...lock.packages[''], version } },
  }
})
process.exitCode = status ?? 1
