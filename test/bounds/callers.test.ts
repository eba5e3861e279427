import { expect, test } from 'vitest'
import { Callers } from '../../src/bounds/callers.ts'

function listened() {
  const callers = new Callers('a')
  const heard: string[] = []
  const stop = callers.listen({
    joined: (caller) => heard.push(`${caller} joined`),
    left: (caller) => heard.push(`${caller} left`),
  })
  return { callers, heard, stop }
}

test('a caller with several requests comes once, and has left with the last of them', () => {
  const { callers, heard } = listened()
  callers.join('b')
  callers.join('b')
  callers.join('a')
  callers.leave('b')
  callers.leave('a')
  expect([...callers.keys()]).toStrictEqual(['a', 'b'])
  callers.leave('b')
  expect(callers.isEmpty).toBe(false)
  callers.leave('a')
  expect(callers.isEmpty).toBe(true)
  expect(heard).toStrictEqual(['b joined', 'b left', 'a left'])
})

test('whoever stops listening hears nothing more', () => {
  const { callers, heard, stop } = listened()
  stop()
  callers.join('b')
  expect(heard).toStrictEqual([])
})
