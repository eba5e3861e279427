import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pack, put, type Tarball } from './packed.ts'

// The declarations of the package, read by the compilers and with the settings that programs have. All are checked with
// `skipLibCheck` off, which reports all that is reported with it on, but those of 4.9, which is older than our syntax. The
// compilers' own are not checked: they take half of the time.

const compilers = join(import.meta.dirname, '../compilers/node_modules')
const isInstalled = existsSync(compilers)
if (!isInstalled) console.warn('Skipped: install the compilers with npm ci --prefix test/compilers.')

const node10 = '--module commonjs --moduleResolution node'
const node16 = '--module node16'
const nodenext = '--module nodenext'
const bundler = '--module esnext --moduleResolution bundler'
const later = [node16, '--module node18', '--module node20', nodenext, bundler]
const targets = ['es2020', 'es2022']

const modes: Readonly<Record<string, readonly string[]>> = {
  '4.9': [node10, node16].map((mode) => `${mode} --skipLibCheck`),
  '5.4': [node10, node16, nodenext, bundler],
  '5.9': [node10, ...later],
  '6': [`${node10} --ignoreDeprecations 6.0`, ...later],
  '7': later,
}

/** Modes in which a CommonJS file cannot import an ES module, whichever that is: it writes `await import('utility-api')`. */
function refusesCommonJs(version: string, mode: string): boolean {
  return /node1[68]/.test(mode) || (mode === nodenext && version === '5.4')
}

let tarball: Tarball
let project: string

beforeAll(() => {
  if (!isInstalled) return
  tarball = pack()
  project = join(tarball.folder, 'project')
  const installed = join(project, 'node_modules/utility-api')
  for (const path of tarball.paths)
    cpSync(join(tarball.folder, 'source', path), join(installed, path), { recursive: true })
  symlinkSync(join(compilers, '@types'), join(project, 'node_modules/@types'))
  put(project, 'package.json', '{ "private": true, "type": "module" }')
  const imports = tarball.entries.map(
    (entry, at) => `import * as entry${at} from '${entry}'\nvoid entry${at}`,
  )
  const program = `${imports.join('\n')}\nexport const api: entry0.UtilityApi = entry0.createUtilityApi({ storage: {} as never })\n`
  put(project, 'module.ts', program)
  put(project, 'common.cts', program)
}, 180_000)

afterAll(() => tarball?.remove(), 60_000)

describe.skipIf(!isInstalled).for(Object.entries(modes))('TypeScript %s', ([version, ofVersion]) => {
  test.for(ofVersion)('%s', { timeout: 120_000 }, (mode) => {
    for (const target of targets) {
      const line = `--noEmit --strict --skipDefaultLibCheck --types node --target ${target} ${mode} module.ts common.cts`
      const compiler = join(compilers, `typescript-${version}/bin/tsc`)
      const { stdout } = spawnSync(process.execPath, [compiler, ...line.split(' ')], {
        cwd: project,
        encoding: 'utf8',
      })
      const errors = stdout
        .split('\n')
        .flatMap((text) => /^(\S+?)\(?[\d,]*\)?: error (TS\d+)/.exec(text)?.slice(1).join(' ') ?? [])
      expect([...new Set(errors)], stdout).toEqual(
        refusesCommonJs(version, mode) ? ['common.cts TS1479'] : [],
      )
    }
  })
})
