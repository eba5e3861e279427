import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { RunningExample } from './start-example.ts'

const root = join(import.meta.dirname, '../..')

/** Why a runtime's tests cannot run here; null when they can. */
export function missing(command: string): string | null {
  return spawnSync(command, ['--version']).status === 0 ? null : `skipped: ${command} is not installed`
}

/** Starts an example's server in Bun or Deno on a free port, and waits until it listens. */
export async function startRuntime(
  folder: string,
  command: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<RunningExample> {
  const child = spawn(command, [...args, 'server.ts'], {
    cwd: join(root, 'examples', folder),
    env: { ...process.env, PORT: '0', ...env },
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
