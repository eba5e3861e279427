import { expect, test } from 'vitest'
import { missing, startRuntime } from '../../test/package/start-example.ts'

const reason = missing('bun')

test.skipIf(reason !== null)(reason ?? 'it serves the operations, and stops cleanly', async () => {
  const example = await startRuntime('bun', 'bun', [], { DATABASE: ':memory:' })
  await expect.poll(example.output).toContain('X-Status')
  const token = /Bearer (\S+)'/.exec(example.output())?.[1]
  const made = await fetch(`${example.url}/v2/reseller/licenses/generate`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${token}`,
      'X-Registered-To': 'Ada',
      'X-Domain-Or-IP': 'shop.example',
      'X-Status': 'valid',
    },
  })
  expect(made.status).toBe(200)
  expect(await example.stop()).toBe(0)
})
