import { AsyncLocalStorage } from 'node:async_hooks'
import { expect, test } from 'vitest'
import { Progress } from '../../src/bounds/progress.ts'

test('each listener is told in its own async context', () => {
  const user = new AsyncLocalStorage<string>()
  const progress = new Progress<number>()
  const told: [string, string | undefined][] = []
  for (const name of ['alice', 'bob'])
    user.run(name, () => progress.follow(() => told.push([name, user.getStore()])))
  user.run('alice', () => progress.add(1))
  expect(told).toEqual([
    ['alice', 'alice'],
    ['bob', 'bob'],
  ])
})
