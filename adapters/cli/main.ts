#!/usr/bin/env node
// Imports nothing before the check: an older Node would first crash with a driver's segmentation fault.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
const supported = major > 22 || (major === 22 && minor >= 18)

if (supported || process.versions['bun'] !== undefined) {
  const { run, surviveLostOutput } = await import('./run.ts')
  surviveLostOutput()
  process.exitCode = await run(process.argv.slice(2))
} else {
  console.error(`utility-api needs Node.js 22.18 or newer; this is ${process.versions.node}.`)
  process.exitCode = 1
}
