import { spawn, spawnSync, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { shared } from '../cli/support/cli.ts'

export interface RunningExample {
  /** Everything printed so far. */
  output(): string
  /** Where it says it listens. */
  readonly url: string
  /** Asks it to stop, and resolves with its exit code. */
  stop(): Promise<number | null>
}

const root = join(import.meta.dirname, '../..')

/** Starts an example's program in Node on a free port, on the sources of this package, and waits until it listens. */
export function startExample(folder: string, env: Record<string, string> = {}): Promise<RunningExample> {
  const args = ['--import', join(root, 'test/support/sources.ts')]
  return start(folder, process.execPath, args, { ...shared, ...env })
}

/** The same in another runtime. */
export function startRuntime(
  folder: string,
  command: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<RunningExample> {
  return start(folder, command, args, { ...process.env, ...env })
}

/** Why a runtime's tests cannot run here; null when they can. */
export function missing(command: string): string | null {
  return spawnSync(command, ['--version']).status === 0 ? null : `skipped: ${command} is not installed`
}

async function start(
  folder: string,
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<RunningExample> {
  const child: ChildProcessByStdio<null, Readable, Readable> = spawn(command, [...args, 'server.ts'], {
    cwd: join(root, 'examples', folder),
    env: { PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  const url = await new Promise<string>((resolve, reject) => {
    const add = (chunk: Buffer): void => {
      text += String(chunk)
      const found = /Listening on (http:\/\/[^\s,]+)/.exec(text)?.[1]
      if (found !== undefined) resolve(found)
    }
    child.stdout.on('data', add)
    child.stderr.on('data', add)
    child.once('close', () => reject(new Error(`${folder} ended before it listened:\n${text}`)))
  })
  return {
    url,
    output: () => text,
    async stop() {
      child.kill('SIGTERM')
      const [code] = (await once(child, 'close')) as [number | null]
      return code
    },
  }
}
