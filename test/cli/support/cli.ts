import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Outcome {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

const command = ['--import', './test/support/sources.ts', 'adapters/cli/main.ts']

/** What of our environment the command gets: where programs are, and what Node.js has compiled already. */
export const shared: Readonly<Record<string, string | undefined>> = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => ['PATH', 'NODE_COMPILE_CACHE'].includes(name)),
)

/** Starts the command in a process of its own, from the sources, in an environment without surprises. */
export function start(args: readonly string[], env: Record<string, string> = {}): ChildProcess {
  return spawn(process.execPath, [...command, ...args], {
    env: { ...shared, HOME: tmpdir(), ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
}

export function run(args: readonly string[], env?: Record<string, string>, input = ''): Promise<Outcome> {
  const child = start(args, env)
  child.stdin?.end(input)
  return outcomeOf(child)
}

export function outcomeOf(child: ChildProcess): Promise<Outcome> {
  let stdout = ''
  let stderr = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  return new Promise((resolve, reject) => {
    child.on('error', reject).on('close', (code) => resolve({ code, stdout, stderr }))
  })
}

/** Resolves with the first line a running command prints. */
export function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    child.stdout?.on('data', (chunk) => {
      text += String(chunk)
      if (text.includes('\n')) resolve(text.slice(0, text.indexOf('\n')))
    })
    child.on('close', () => reject(new Error(`It ended without a line; it said: ${text}`)))
  })
}

/** A folder for one test file's databases. */
export function temporaryFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'utility-api-cli-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}
