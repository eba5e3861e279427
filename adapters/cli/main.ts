#!/usr/bin/env node
// Imports nothing before the check, because an older Node would first crash with a driver's segmentation fault.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
const supported = major > 22 || (major === 22 && minor >= 18)

if (supported || process.versions['bun'] !== undefined) {
  const { run, surviveLostOutput } = await import('./run.ts')
  surviveLostOutput()
  process.once('beforeExit', failUnsettled)
  // Not awaited here: Node would end an own storage's promise that never settles with a warning about this file.
  void run(process.argv.slice(2)).then((code) => {
    process.off('beforeExit', failUnsettled)
    process.exitCode = code
  })
} else {
  console.error(
    `utility-api needs Node.js 22.18 or newer; this is ${process.versions.node}. On Bun: bunx --bun utility-api.`,
  )
  process.exitCode = 1
}

/** Called when nothing is left that could settle the run. */
function failUnsettled(): void {
  console.error('The command cannot go on: a promise of the --storage module never settles.')
  process.exitCode = 1
}
