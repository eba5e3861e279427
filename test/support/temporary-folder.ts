import { chmodSync, mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { removeFolder } from './remove-folder.ts'

// Node.js keeps there what it has compiled, so that the hundreds of processes of a run start in half the time. Not in
// the temporary folder: a process that outlives the run would bring that back when it writes down what it compiled.
const compiled = fileURLToPath(new URL('../../node_modules/.cache/compiled', import.meta.url))

/** Gives a run a temporary folder of its own. What tests leave in it fails the run and goes with it. */
export default function setUp(): (() => void) | undefined {
  if (process.env['UTILITY_API_TESTS'] !== undefined) return undefined
  const folder = mkdtempSync(join(tmpdir(), 'utility-api-tests-'))
  // Servers run as other users where we are root: it is for all, as the one above it.
  chmodSync(folder, 0o1777)
  const own = {
    UTILITY_API_TESTS: folder,
    TMPDIR: folder,
    TEMP: folder,
    NODE_COMPILE_CACHE: compiled,
  }
  Object.assign(process.env, own)
  const remove = (): void => removeFolder(folder)
  // Also where the run is interrupted.
  process.once('exit', remove).once('SIGINT', () => process.exit(130))
  return () => {
    const left = readdirSync(folder)
    process.off('exit', remove)
    remove()
    if (left.length === 0) return
    console.error(`Tests left in the temporary folder: ${left.join(', ')}`)
    process.exitCode = 1
  }
}
