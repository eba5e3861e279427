import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createGate } from '../../adapters/storage/shared/closing.ts'

test('closing waits for the calls inside, whether they succeed or fail', async () => {
  const gate = createGate()
  const [good, bad] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const { find, write } = gate.guard({ find: () => good.promise, write: () => bad.promise })
  const [found, written] = [find(), write()]
  let isClosed = false
  const closed = gate.close().then(() => (isClosed = true))
  good.resolve()
  await found
  await turn()
  expect(isClosed).toBe(false)
  bad.reject(new Error('full'))
  await expect(written).rejects.toThrow('full')
  await turn()
  expect(isClosed).toBe(true)
  await closed
})
