import { existsSync, rmSync } from 'node:fs'

/**
 * Removes the folder of a server, although processes of that may still be ending: a file that they make or remove
 * meanwhile ends Node's own attempt, with an error or without one. Tries for two seconds.
 */
export function removeFolder(folder: string, attempts: number = 40): void {
  try {
    rmSync(folder, { recursive: true, force: true })
  } catch (error) {
    if (attempts === 0) throw error
  }
  if (attempts === 0 || !existsSync(folder)) return
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50)
  removeFolder(folder, attempts - 1)
}
