import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Library } from './libraries.ts'

const here = import.meta.dirname
const program = (file: string): string => join(here, 'programs', file)

/** A token, or what the library says instead. */
export interface Outcome {
  readonly id: string
  readonly token?: string
  readonly error?: string
}

/** What a program needs beside the libraries. */
const tools: Readonly<Record<string, string>> = {
  go: 'go',
  haskell: 'ghc',
  java: 'java',
  perl: 'perl',
  php: 'php',
  ruby: 'ruby',
  rust: 'cargo',
  shell: 'jq',
}

/** Returns the version of a library that is installed with all that it needs, or null. */
export function versionOf({ program: language, name, package: named = name }: Library): string | null {
  const tool = tools[language]
  if (tool !== undefined && spawnSync(tool, ['--version']).error !== undefined) return null
  if (language === 'javascript') {
    const manifest = join(here, 'node_modules', named, 'package.json')
    if (!existsSync(manifest)) return null
    return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version
  }
  const { status, stdout } = spawnSync('dpkg-query', ['-W', '-f=${db:Status-Abbrev} ${Version}', named], {
    encoding: 'utf8',
  })
  return status === 0 && stdout.startsWith('ii') ? (stdout.split(/ +/).at(-1) ?? null) : null
}

const cargoManifest = `[package]
name = "exchange"
version = "0.0.0"
edition = "2021"
[[bin]]
name = "exchange"
path = ${JSON.stringify(program('rust.rs'))}
[dependencies]
serde_json = "1"
oauth2 = { version = "4.3", default-features = false, features = ["ureq"] }
`

type Command = readonly [file: string, ...args: string[]]

/** How each program is built, if it must be, and started. Only packages of the machine are used. */
const commands: Readonly<Record<string, (folder: string) => Command>> = {
  javascript: () => [process.execPath, program('javascript.js')],
  python: () => ['/usr/bin/python3', program('python.py')],
  ruby: () => ['/usr/bin/ruby', program('ruby.rb')],
  perl: () => ['/usr/bin/perl', program('perl.pl')],
  php: () => ['/usr/bin/php', program('php.php')],
  shell: () => ['/bin/sh', program('shell.sh')],
  java: () => {
    const jars = ['gson', 'google-http-client', 'google-http-client-gson', 'google-oauth-client', 'guava']
    const others = ['opencensus-api', 'opencensus-contrib-http-util', 'grpc-context', 'failureaccess']
    const paths = [...jars, ...others].map((jar) => `/usr/share/java/${jar}.jar`)
    return ['java', '-cp', paths.join(':'), program('java.java')]
  },
  go: (folder) => {
    const env = {
      GO111MODULE: 'off',
      GOPATH: '/usr/share/gocode',
      GOCACHE: join(folder, 'cache'),
      GOFLAGS: '',
    }
    build('go', ['build', '-o', join(folder, 'go'), program('go.go')], env)
    return [join(folder, 'go')]
  },
  haskell: (folder) => {
    const output = join(folder, 'haskell')
    build('ghc', ['-v0', '-package', 'hoauth2', '-outputdir', folder, '-o', output, program('haskell.hs')])
    return [output]
  },
  rust: (folder) => {
    writeFileSync(join(folder, 'Cargo.toml'), cargoManifest)
    const sources = ['crates-io.replace-with="debian"', 'debian.directory="/usr/share/cargo/registry"']
    const configured = sources.flatMap((source) => ['--config', `source.${source}`])
    build('cargo', [
      'build',
      '--offline',
      '--quiet',
      '--manifest-path',
      join(folder, 'Cargo.toml'),
      ...configured,
    ])
    return [join(folder, 'target/debug/exchange')]
  },
}

function build(file: string, args: readonly string[], env: Record<string, string> = {}): void {
  const { status, stderr, error } = spawnSync(file, args, {
    env: { ...process.env, ...env },
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`${file} failed: ${error?.message ?? stderr.slice(-2000)}`)
}

/** Builds a program if it must be. */
export function prepare(language: string, folder: string): Command {
  const command = commands[language]
  if (command === undefined) throw new Error(`There is no program for ${language}.`)
  return command(folder)
}

/** Gives a program its jobs, and returns what came of each. A program that dies leaves the rest without. */
export async function runProgram([file, ...args]: Command, jobs: readonly object[]): Promise<Outcome[]> {
  const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'pipe'], timeout: 120_000 })
  child.on('error', () => {})
  child.stdin.on('error', () => {}).end(JSON.stringify(jobs))
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
  const lines = output.split('\n').filter((line) => line.startsWith('{'))
  if (lines.length < jobs.length) console.error(errors.slice(-2000))
  return lines.map((line) => JSON.parse(line) as Outcome)
}
