import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'

const isolated = ['--map-root-user', '--net']

/** Whether programs can have a network of their own here, which leads nowhere else. Says it if not. */
export const hasOwnNetwork: boolean =
  spawnSync('unshare', [...isolated, 'ip', 'link', 'set', 'lo', 'up']).status === 0
if (!hasOwnNetwork) console.warn('Skipped: no network of its own (unshare, ip, and the right to use them).')

/** Runs a TypeScript program of the tests in a network of its own, and returns what it printed. */
export async function runInOwnNetwork(program: string, ...args: string[]): Promise<string> {
  const node = [process.execPath, '--import', './test/support/sources.ts', program]
  const { stdout } = await promisify(execFile)('unshare', [...isolated, ...node, ...args])
  return stdout
}
