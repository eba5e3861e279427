import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const root = join(import.meta.dirname, '../..')

/** The package as npm would publish it. */
export interface Tarball {
  readonly tarball: string
  /** The paths in it. */
  readonly paths: readonly string[]
  /** The specifiers that can be imported. */
  readonly entries: readonly string[]
  /** A temporary folder, with the tarball and room for more. */
  readonly folder: string
  remove(): void
}

/** The package, and an empty project that has installed it. */
export interface PackedPackage extends Tarball {
  /** A project with the package installed, and what its types and its reader's programs need. */
  readonly project: string
}

/** Builds and packs. */
export function pack(): Tarball {
  const folder = mkdtempSync(join(tmpdir(), 'utility-api-package-'))
  const source = join(folder, 'source')
  mkdirSync(source)
  const filter = (path: string): boolean => !/node_modules|docs\/api/.test(path.slice(root.length))
  for (const name of ['package.json', 'LICENSE', 'docs', 'examples', ...globSync('*.md', { cwd: root })])
    cpSync(join(root, name), join(source, name), { recursive: true, filter })
  // What is installed and left behind there is not of the package.
  for (const name of ['typed-client/node_modules/dependency/index.js', 'demo/utility.sqlite-wal']) {
    mkdirSync(dirname(join(source, 'examples', name)), { recursive: true })
    writeFileSync(join(source, 'examples', name), '')
  }
  build(join(source, 'dist'))
  const packed = npm(source, 'pack', '--json', '--ignore-scripts', '--pack-destination', folder)
  const [{ filename, files }] = JSON.parse(packed) as [{ filename: string; files: { path: string }[] }]
  return {
    tarball: join(folder, filename),
    paths: files.map(({ path }) => path),
    entries: Object.keys(manifest().exports)
      .filter((path) => path !== './package.json')
      .map((path) => path.replace('.', 'utility-api')),
    folder,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** Builds into a folder, apart from the work tree, where somebody else may be building. */
export function build(folder: string): void {
  const tsup = join(root, 'node_modules/tsup/dist/cli-default.js')
  execFileSync(process.execPath, [tsup, '--silent', '--outDir', folder], { cwd: root })
}

export function packAndInstall(): PackedPackage {
  const packed = pack()
  const { folder, tarball } = packed
  const project = join(folder, 'project')
  mkdirSync(project)
  writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }\n')
  const { devDependencies } = manifest()
  const others = ['better-sqlite3', '@types/node', '@types/better-sqlite3', 'typescript'].map(
    (name) => `${name}@${devDependencies[name]}`,
  )
  const express = JSON.parse(readFileSync(join(root, 'examples/express/package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  others.push(`express@${express.dependencies['express']}`)
  npm(
    project,
    'install',
    '--prefer-offline',
    '--no-audit',
    '--no-fund',
    '--ignore-scripts',
    tarball,
    ...others,
  )
  return { ...packed, project }
}

export function manifest(): {
  exports: Record<string, unknown>
  devDependencies: Record<string, string>
  allowScripts: Record<string, boolean>
} {
  return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as ReturnType<typeof manifest>
}

function npm(cwd: string, ...args: string[]): string {
  const env = npmEnvironment()
  return execFileSync('npm', args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

/** For npm in another project: what `npm test` sets for its own children would point it at ours. */
export function npmEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('npm_')))
}

/** Puts a program into a project and says where it is. */
export function put(project: string, name: string, text: string): string {
  writeFileSync(join(project, name), text)
  return name
}
