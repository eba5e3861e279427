import { expect, onTestFinished, test, vi } from 'vitest'
import { createScreen } from '../../../adapters/cli/terminal/screen.ts'

test('lines that fill the terminal are not drawn: the first would have scrolled away', () => {
  const { isTTY, rows } = process.stdout
  onTestFinished(() => void Object.assign(process.stdout, { isTTY, rows }))
  Object.assign(process.stdout, { isTTY: true, rows: 3 })
  const log = vi.spyOn(console, 'log').mockReturnValue()
  createScreen().draw(['a', 'b', 'c'])
  expect(log).not.toHaveBeenCalled()
  createScreen().draw(['a', 'b'])
  expect(log).toHaveBeenCalledExactlyOnceWith('a\nb')
})
