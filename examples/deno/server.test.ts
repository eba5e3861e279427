import { expect, test } from 'vitest'
import { remotes } from '../../test/http/support/remote.ts'
import { missing, startRuntime } from '../../test/package/start-example.ts'

const remote = remotes['Deno']
const reason = missing('deno')

test.skipIf(reason !== null)(reason ?? 'it serves the operations, and stops cleanly', async () => {
  const example = await startRuntime('deno', remote?.command ?? '', [...(remote?.args.slice(0, -1) ?? [])])
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
