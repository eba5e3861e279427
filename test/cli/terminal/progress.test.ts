import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest'
import { withProgress } from '../../../adapters/cli/terminal/progress.ts'
import { temporaryFolder } from '../support/cli.ts'
import { runHere } from '../support/cli-here.ts'

const folder = temporaryFolder()
afterAll(() => folder.remove())

let written: string[]
const before = Object.getOwnPropertyDescriptor(process.stderr, 'isTTY')
beforeEach(() => {
  written = []
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => written.push(String(text)) > 0)
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
  onTerminal(before?.value === true)
})

function onTerminal(isTTY: boolean): void {
  Object.defineProperty(process.stderr, 'isTTY', { value: isTTY, configurable: true })
}

const cleared = '\r\u001B[2K'

test('says how long work has taken, and leaves nothing behind', async () => {
  vi.useFakeTimers()
  onTerminal(true)
  const { promise, resolve } = Promise.withResolvers<number>()
  const result = withProgress('Deleting', () => promise)
  await vi.advanceTimersByTimeAsync(2500)
  expect(written).toEqual(['Deleting …', '\rDeleting … 1 s', '\rDeleting … 2 s'])
  resolve(7)
  expect(await result).toBe(7)
  expect(written.at(-1)).toBe(cleared)
  expect(vi.getTimerCount()).toBe(0)
})

test('leaves nothing behind when the work fails', async () => {
  onTerminal(true)
  await expect(withProgress('Deleting', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(written).toEqual(['Deleting …', cleared])
})

const commands: Readonly<Record<string, string[]>> = {
  'Updating the tables': ['migrate'],
  'Deleting what has expired': ['purge'],
  Reading: ['license', 'list'],
  Counting: ['license', 'count'],
}

test('commands on many rows say what they do, on a terminal only', async () => {
  const env = { UTILITY_API_DATABASE: join(folder.path, 'utility.sqlite') }
  for (const [what, args] of Object.entries(commands)) {
    written = []
    onTerminal(true)
    expect(await runHere(args, env)).toMatchObject({ code: 0, stderr: '' })
    expect(written).toEqual([`${what} …`, cleared])
    onTerminal(false)
    expect(await runHere(args, env)).toMatchObject({ code: 0, stderr: '' })
    expect(written).toHaveLength(2)
  }
})
