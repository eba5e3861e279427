import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createDnsClient } from '../../../src/dns/client.ts'
import { freePort } from '../../support/free-port.ts'
import { removeFolder } from '../../support/remove-folder.ts'
import { findProgram } from '../support/nsd.ts'

/** How to run a DNS server that somebody else wrote. */
export interface EngineSpec {
  readonly name: string
  readonly program: string
  /** The Debian package that has the program. */
  readonly debian: string
  /** Writes what the server needs into its folder, and returns its arguments. */
  setUp(place: EnginePlace): readonly string[]
  /** A zone that it serves, and is ready as soon as it has loaded. Of another's zones, any answer will do. */
  readonly serves?: string
}

export interface EnginePlace {
  readonly folder: string
  readonly ip: string
  readonly port: number
  /** Writes a file into the folder, and returns its path. */
  write(file: string, text: string): string
}

/** A server that answers. */
export interface Engine extends AsyncDisposable {
  readonly name: string
  readonly ip: string
  readonly port: number
  /** Replaces files in its folder, and lets it read them again. */
  rewrite(files: Readonly<Record<string, string>>): void
}

const tries = 100

export function isInstalled({ program }: EngineSpec): boolean {
  return findProgram(program) !== undefined
}

/** Starts a server on loopback, on a free port, and waits until it answers. */
export async function startEngine(spec: EngineSpec, ip = '127.0.0.1', wanted?: number): Promise<Engine> {
  const folder = mkdtempSync(join(tmpdir(), 'engine-'))
  const port = wanted ?? (await freePort())
  const write = (file: string, text: string): string => {
    const path = join(folder, file)
    writeFileSync(path, text)
    return path
  }
  const args = spec.setUp({ folder, ip, port, write })
  const child = spawn(findProgram(spec.program) ?? spec.program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: folder,
  })
  const killed = (): void => void child.kill('SIGKILL')
  process.once('exit', killed)
  const ended = once(child, 'close').finally(() => process.off('exit', killed))
  let said = ''
  const listen = (chunk: Buffer): void => void (said = (said + String(chunk)).slice(-4000))
  child.stdout.on('data', listen)
  child.stderr.on('data', listen)
  async function stop(): Promise<void> {
    child.kill('SIGTERM')
    const isOver = await Promise.race([ended, delay(5000, 'late', { ref: false })])
    if (isOver === 'late') child.kill('SIGKILL')
    await ended
    removeFolder(folder)
  }
  const client = createDnsClient()
  try {
    for (let left = tries; ; left -= 1) {
      const name = spec.serves ?? 'ready.example'
      const { status } = await client.query({ name, type: 'SOA', server: { ip, port }, timeoutMs: 1000 })
      const isThere = status !== 'TIMEOUT' && status !== 'UNREACHABLE'
      if (spec.serves === undefined ? isThere : status === 'NOERROR') break
      if (left === 0 || child.exitCode !== null)
        throw new Error(`${spec.name} does not answer (${status}):\n${said}`)
      await delay(100)
    }
  } catch (error) {
    await stop()
    throw error
  } finally {
    await client.close()
  }
  const rewrite: Engine['rewrite'] = (files) => {
    for (const [file, text] of Object.entries(files)) write(file, text)
    child.kill('SIGHUP')
  }
  return { name: spec.name, ip, port, rewrite, [Symbol.asyncDispose]: stop }
}
