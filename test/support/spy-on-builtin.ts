import { syncBuiltinESMExports } from 'node:module'
import { onTestFinished, vi, type Mock } from 'vitest'

/** Watches a function of a built-in module until the test ends, also where it was imported by its name, and before. */
export function spyOnBuiltin<Module, Name extends keyof Module>(module: Module, name: Name): Mock {
  const spy = vi.spyOn(module as Record<Name, (...args: never[]) => unknown>, name as never) as Mock
  syncBuiltinESMExports()
  onTestFinished(() => {
    spy.mockRestore()
    syncBuiltinESMExports()
  })
  return spy
}
