import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

// Node.js keeps there what it has compiled, so that the hundreds of processes of a run start in half the time.
const compiled = 'compiled'

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
    NODE_COMPILE_CACHE: join(folder, compiled),
  }
  Object.assign(process.env, own)
  const remove = (): void => removeFolder(folder)
  // Also where the run is interrupted, and once more at the end: workers that end last write down what they compiled.
  process.once('exit', remove).once('SIGINT', () => process.exit(130))
  return () => {
    const left = readdirSync(folder).filter((name) => name !== compiled)
    remove()
    if (left.length === 0) return
    console.error(`Tests left in the temporary folder: ${left.join(', ')}`)
    process.exitCode = 1
  }
}

/** Tries for two seconds: processes of the run may still be ending, or writing down what they compiled. */
function removeFolder(folder: string, attempts = 40): void {
  try {
    rmSync(folder, { recursive: true, force: true })
  } catch (error) {
    if (attempts === 0) throw error
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50)
    removeFolder(folder, attempts - 1)
  }
}
