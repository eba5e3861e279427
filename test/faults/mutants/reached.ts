import { existsSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs'

/**
 * Notes in a folder which mutants' places this process comes to, and for which test file. A process that a test has started
 * is not told its file, and takes its parent's.
 */
export function noteReached(folder: string, testFile?: string): void {
  if (testFile !== undefined) writeFileSync(`${folder}/${process.pid}`, testFile)
  const parent = `${folder}/${process.ppid}`
  const file = testFile ?? (existsSync(parent) && readFileSync(parent, 'utf8'))
  const seen = new Set<number>()
  // Open from the start: some tests leave no descriptor free.
  const reached = openSync(`${folder}/reached`, 'a')
  const mutantReached = (index: number): void => {
    if (file === false || seen.has(index)) return
    seen.add(index)
    writeSync(reached, `${index} ${file}\n`)
  }
  Object.assign(globalThis, { mutantReached })
}
