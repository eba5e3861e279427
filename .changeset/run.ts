// Changesets knows the packages of workspaces only, and npm warns of a root that is one: it is one while this runs.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'

interface Manifest {
  version: string
  workspaces: string[]
}

interface Lock {
  version: string
  packages: Record<string, { version: string }>
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

// npm would write the lock file anew, without what makes older versions of it not compile better-sqlite3.
const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest
change<Lock>('package-lock.json', (lock) => {
  const root = { ...lock.packages[''], version }
  return { ...lock, version, packages: { ...lock.packages, '': root } }
})
process.exitCode = status ?? 1
