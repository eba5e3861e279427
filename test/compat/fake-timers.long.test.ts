import { readFileSync } from 'node:fs'
import { createRequire, registerHooks, syncBuiltinESMExports } from 'node:module'
import { mock } from 'node:test'
import timers from 'node:timers'
import promises from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { startPostgres, type PostgresServer } from '../storage/support/postgres-server.ts'
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

/** What the guide asks for: the bodies of Node's own `Request` wait for the one, and its sockets for the other. */
const guided = ['queueMicrotask', 'nextTick']
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

// Installed with test/hosts.
const installed = createRequire(new URL('../hosts/package.json', import.meta.url))
type Untyped = ReturnType<typeof JSON.parse>

function fromHosts(name: string): Untyped {
  try {
    return installed(name) as Untyped
  } catch {
    return undefined
  }
}
const sinon = fromHosts('@sinonjs/fake-timers')
const jest = fromHosts('@jest/fake-timers')

let server: PostgresServer
beforeAll(async () => void (server = await startPostgres()))
afterAll(() => server.stop())

const bySinon = (toNotFake: string[]) => (): (() => void) => {
  const clock = sinon.install({ toNotFake })
  return () => clock.uninstall()
}

const byJest = (doNotFake: string[]) => (): (() => void) => {
  const clock = new jest.ModernFakeTimers({ config: { rootDir: '.', fakeTimers: {} }, global: globalThis })
  clock.useFakeTimers({ doNotFake })
  return () => clock.useRealTimers()
}

const stores = ['memory', 'SQLite', 'PostgreSQL']
const all = { statuses: [200, 200, 200, 200, 200, 200], resolved: [true, false, false] }
/** A body that Node never passes on is given up after its ten seconds. */
const noBody = { ...all, statuses: [408, ...all.statuses.slice(1)] }

type Row = readonly [fake: () => () => void, expected?: typeof all]
const tools: Readonly<Record<string, Row>> = {
  'vitest, as by default': [() => (vi.useFakeTimers(), () => void vi.useRealTimers())],
  'vitest, with all that it has': [
    () => {
      vi.useFakeTimers({ toFake: [...names, 'clearTimeout', 'clearInterval', 'performance'] })
      return () => void vi.useRealTimers()
    },
  ],
  ...(sinon && {
    'sinon, as the guide says': [bySinon(guided)],
    'sinon, but for nextTick': [bySinon(['nextTick']), noBody],
  }),
  ...(jest && {
    'Jest, as the guide says': [byJest(guided)],
    'Jest, but for nextTick': [byJest(['nextTick']), noBody],
  }),
  'node:test': [() => (mock.timers.enable(), () => mock.timers.reset())],
  'one that replaces the modules too': [replaceAll],
}

for (const [tool, [fake, expected = all]] of Object.entries(tools))
  test.each(stores)(
    `under the fakes of ${tool}, all ends with %s`,
    async (store) => {
      let unfake = (): void => {}
      onTestFinished(() => unfake())
      expect(
        await useAll(store === 'PostgreSQL' ? await server.createDatabase() : store, () => (unfake = fake())),
      ).toEqual(expected)
    },
    30_000,
  )
