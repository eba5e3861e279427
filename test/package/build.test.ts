import { mkdtempSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Options } from 'tsup'
import { expect, onTestFinished, test, vi } from 'vitest'
import config from '../../tsup.config.ts'
import { removeFolder } from '../support/remove-folder.ts'

const start = config as unknown as (given: Options) => Options & { onSuccess(): Promise<void> }
const beside = ['bundled-licenses.txt', 'dev.html', 'sbom.cdx.json']

function temporaryOutDir(): string {
  const outDir = mkdtempSync(join(tmpdir(), 'build-'))
  onTestFinished(() => removeFolder(outDir))
  return outDir
}

test('a build removes what it has not written, by whatever clock, though another removes it too', async () => {
  const outDir = temporaryOutDir()
  const write = (files: string[], at: Date): void => {
    for (const path of files.map((file) => join(outDir, file))) {
      writeFileSync(path, '')
      utimesSync(path, at, at)
    }
  }
  write(['old.js', 'written.js'], new Date('2026-01-01T00:00:00Z'))
  const builds = [start({ outDir }), start({ outDir })]
  // By the clock of a file server that is behind.
  write(['written.js', 'new.js'], new Date('2026-01-01T00:01:00Z'))
  for (const build of builds) await build.onSuccess()
  expect(readdirSync(outDir).toSorted()).toEqual([...beside, 'new.js', 'written.js'].toSorted())
})

test('npx runs the command that is built in a clone, and builds one that is missing', () => {
  const outDir = temporaryOutDir()
  onTestFinished(() => void vi.unstubAllEnvs())
  vi.stubEnv('npm_command', 'exec').stubEnv('npm_lifecycle_event', 'prepare')
  expect(start({ outDir })).toHaveProperty('entry')
  writeFileSync(join(outDir, 'cli.js'), '')
  expect(start({ outDir })).toEqual([])
  vi.stubEnv('npm_lifecycle_event', 'npx')
  expect(start({ outDir })).toHaveProperty('entry')
})
