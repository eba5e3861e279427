// Changesets knows the packages of workspaces only, and npm warns of a root that is one: it is one while this runs.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'

function changeWorkspaces(change: (workspaces: string[]) => string[]): void {
  const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as { workspaces: string[] }
  writeFileSync(
    'package.json',
    `${JSON.stringify({ ...manifest, workspaces: change(manifest.workspaces) }, null, 2)}\n`,
  )
}

changeWorkspaces((workspaces) => [...workspaces, '.'])
const { status } = spawnSync('changeset', process.argv.slice(2), { stdio: 'inherit' })
changeWorkspaces((workspaces) => workspaces.filter((each) => each !== '.'))
process.exitCode = status ?? 1
