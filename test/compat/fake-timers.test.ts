import { readFileSync } from 'node:fs'
import { createRequire, registerHooks, syncBuiltinESMExports } from 'node:module'
import { mock } from 'node:test'
import timers from 'node:timers'
import promises from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { useAll as UseAll } from './under-fakes.ts'

// What vitest loads for these tests has the global timers: see test/support/fakeable-timers.ts.
const { paths } = (
  JSON.parse(readFileSync('tsconfig.json', 'utf8')) as {
    compilerOptions: { paths: Record<string, [string]> }
  }
).compilerOptions
const hooks = registerHooks({
  resolve(specifier, context, next) {
    const source = paths[specifier]
    return next(source === undefined ? specifier : pathToFileURL(source[0]).href, context)
  },
})
const { useAll } = createRequire(import.meta.url)('./under-fakes.ts') as { useAll: typeof UseAll }
hooks.deregister()

// Not `queueMicrotask`: the bodies of Node's own `Request` wait for it.
const names = ['setImmediate', 'setTimeout', 'setInterval'] as const
const never = (): never => ({ unref: () => undefined, ref: () => undefined }) as never

/** Replaces all that any tool replaces, in the modules too, and calls nothing back. */
function replaceAll(): () => void {
  const spies = [
    ...names.flatMap((name) => [vi.spyOn(globalThis, name), vi.spyOn(timers, name)]),
    ...names.map((name) => vi.spyOn(promises, name)),
  ] as { mockImplementation(as: () => never): void; mockRestore(): void }[]
  for (const spy of spies) spy.mockImplementation(never)
  syncBuiltinESMExports()
  return () => {
    for (const spy of spies) spy.mockRestore()
    syncBuiltinESMExports()
  }
}

const tools: Readonly<Record<string, () => () => void>> = {
  'vitest, as by default': () => (vi.useFakeTimers(), () => void vi.useRealTimers()),
  'vitest, with all that it has': () => {
    vi.useFakeTimers({ toFake: [...names, 'clearTimeout', 'clearInterval', 'performance'] })
    return () => void vi.useRealTimers()
  },
  'node:test': () => (mock.timers.enable(), () => mock.timers.reset()),
  'one that replaces the modules too': replaceAll,
}

for (const [tool, fake] of Object.entries(tools))
  test.each(['memory', 'SQLite'] as const)(
    `under the fakes of ${tool}, all works with %s`,
    async (store) => {
      let unfake = (): void => {}
      onTestFinished(() => unfake())
      expect(await useAll(store, () => (unfake = fake()))).toEqual([200, 200, 200, 200, 200, 200])
    },
    15_000,
  )
