import { expect, test } from 'vitest'
import { requireSupportedRuntime } from '../../src/system/runtime.ts'

test.each([
  ['21.20.0', false],
  ['22.17.9', false],
  ['22.18.0', true],
  ['23.0.0', true],
])('on Node.js %s the library loads: %s', (node, loads) => {
  const check = expect(() => requireSupportedRuntime({ ...process.versions, node }))
  if (loads) check.not.toThrow()
  else check.toThrow(`utility-api needs Node.js 22.18 or newer; this is ${node}.`)
})
