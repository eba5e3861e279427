import { mkdtempSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Options } from 'tsup'
import { expect, onTestFinished, test } from 'vitest'
import config from '../../tsup.config.ts'
import { removeFolder } from '../support/remove-folder.ts'

const beside = ['bundled-licenses.txt', 'dev.html', 'sbom.cdx.json']

test('a build removes what it has not written, by whatever clock, though another removes it too', async () => {
  const outDir = mkdtempSync(join(tmpdir(), 'build-'))
  onTestFinished(() => removeFolder(outDir))
  const write = (files: string[], at: Date): void => {
    for (const path of files.map((file) => join(outDir, file))) {
      writeFileSync(path, '')
      utimesSync(path, at, at)
    }
  }
  const start = config as unknown as (given: Options) => { onSuccess(): Promise<void> }
  write(['old.js', 'written.js'], new Date('2026-01-01T00:00:00Z'))
  const builds = [start({ outDir }), start({ outDir })]
  // By the clock of a file server that is behind.
  write(['written.js', 'new.js'], new Date('2026-01-01T00:01:00Z'))
  for (const build of builds) await build.onSuccess()
  expect(readdirSync(outDir).toSorted()).toEqual([...beside, 'new.js', 'written.js'].toSorted())
})
