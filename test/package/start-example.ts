import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

export interface RunningExample {
  /** Everything printed so far. */
  output(): string
  /** Where it says it listens. */
  readonly url: string
  /** Asks it to stop, and resolves with its exit code. */
  stop(): Promise<number | null>
}

const root = join(import.meta.dirname, '../..')

/** Starts an example's program on a free port, on the sources of this package, and waits until it listens. */
export async function startExample(
  folder: string,
  env: Record<string, string> = {},
): Promise<RunningExample> {
  const child = spawn(process.execPath, ['--import', join(root, 'test/storage/sources.ts'), 'server.ts'], {
    cwd: join(root, 'examples', folder),
    env: { PATH: process.env['PATH'] ?? '', PORT: '0', ...env },
  })
  let text = ''
  const url = new Promise<string>((resolve, reject) => {
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
    url: await url,
    output: () => text,
    async stop() {
      child.kill('SIGTERM')
      const [code] = (await once(child, 'close')) as [number | null]
      return code
    },
  }
}
