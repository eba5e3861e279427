/** Worlds in other runtimes: the same fixture there, and a line of JSON for each call from here. */
import { spawn, spawnSync, type ChildProcessByStdio } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { sendToPort } from './send.ts'
import { decode, encode } from './wire.ts'
import type { World, WorldOptions } from './world.ts'

/** How a runtime starts a program of the sources, whose path comes last. */
export interface Remote {
  readonly command: string
  readonly args: readonly string[]
}

const fixture = fileURLToPath(new URL('fixture.ts', import.meta.url))

export const remotes: Readonly<Record<string, Remote>> = {
  Bun: { command: 'bun', args: [] },
  Deno: {
    command: 'deno',
    args: ['run', '--quiet', '--allow-all', '--no-lock', `--import-map=${importMap()}`],
  },
}

/** Why a surface cannot be tested here; null when it can. */
export function missingRuntime(surface: string): string | null {
  const remote = remotes[surface]
  if (remote === undefined || spawnSync(remote.command, ['--version']).status === 0) return null
  return `skipped: ${remote.command} is not installed`
}

/** Whether these options can travel to another process: plain values can, a storage or a function cannot. */
export function canTravel(options: WorldOptions): boolean {
  return !('storage' in options) && !holdsFunctions(options)
}

function holdsFunctions(value: unknown): boolean {
  if (typeof value === 'function') return true
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsFunctions)
}

/** Deno reads no `paths`: it gets them as an import map. */
function importMap(): string {
  const { compilerOptions } = JSON.parse(readFileSync('tsconfig.json', 'utf8')) as {
    compilerOptions: { paths: Record<string, [string]> }
  }
  const imports = Object.fromEntries(
    Object.entries(compilerOptions.paths).map(([name, [file]]) => [name, pathToFileURL(file).href]),
  )
  return `data:application/json,${encodeURIComponent(JSON.stringify({ imports }))}`
}

export async function startRemoteWorld(remote: Remote, options: WorldOptions): Promise<World> {
  const child = spawn(remote.command, [...remote.args, fixture, JSON.stringify(options)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const { facts, call } = await connectTo(child)
  const { port, ...values } = facts as { port: number }
  let settled: Promise<unknown> = Promise.resolve()

  return {
    ...(values as unknown as World),
    admin: callsOf(call, 'admin'),
    storage: callsOf(call, 'storage'),
    clock: {
      now: () => Number.NaN,
      advance: (milliseconds) => void (settled = call('clock.advance', milliseconds)),
    },
    issueCode: (...args) => call('issueCode', ...args) as Promise<string>,
    address: { port, prefix: '' },
    silentLookups: () => call('silentLookups') as ReturnType<World['silentLookups']>,
    generate: () => call('generate') as Promise<string>,
    async send(request) {
      await settled
      return sendToPort(port, request)
    },
    async close() {
      const exited = new Promise((resolve) => child.once('exit', resolve))
      await call('close')
      child.stdin.end()
      await exited
    },
  }
}

/** An object whose every method is a call to the object of that name in the fixture. */
function callsOf<Name extends 'admin' | 'storage'>(call: Call, name: Name): World[Name] {
  return new Proxy({} as World[Name], { get: (_, method) => call.bind(null, `${name}.${String(method)}`) })
}

type Call = (method: string, ...args: unknown[]) => Promise<unknown>

/** Waits for the fixture's first line, and matches the later ones to the calls that asked for them. */
function connectTo(
  child: ChildProcessByStdio<Writable, Readable, null>,
): Promise<{ facts: unknown; call: Call }> {
  const waiting: { resolve: (value: unknown) => void; reject: (error: Error) => void }[] = []
  const call: Call = (method, ...args) => {
    child.stdin.write(`${encode({ method, args })}\n`)
    return new Promise((resolve, reject) => waiting.push({ resolve, reject }))
  }
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`The fixture ended with ${code}.`)))
    child.once('error', reject)
    let ready = false
    createInterface(child.stdout).on('line', (line) => {
      const message = decode(line) as { value?: unknown; error?: string }
      if (!ready) resolve({ facts: message.value, call })
      else if (message.error === undefined) waiting.shift()?.resolve(message.value)
      else waiting.shift()?.reject(new Error(message.error))
      ready = true
    })
  })
}
