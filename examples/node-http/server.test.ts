import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startExample } from '../../test/package/start-example.ts'

test('it serves, keeps its licenses over a restart, and stops cleanly', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'utility-api-example-'))
  const env = { DATABASE: join(folder, 'utility.sqlite') }
  const first = await startExample('node-http', env)
  await expect.poll(first.output).toContain('Authorization')
  const token = /Bearer (\S+)'/.exec(first.output())?.[1]
  const headers = {
    Authorization: `Bearer ${token}`,
    'X-Registered-To': 'Ada',
    'X-Domain-Or-IP': 'shop.example',
    'X-Status': 'valid',
  }
  const made = await fetch(`${first.url}/v2/reseller/licenses/generate`, { method: 'POST', headers })
  expect(made.status).toBe(200)
  const { data } = (await made.json()) as { data: { license_key: string } }
  expect(await first.stop()).toBe(0)

  const second = await startExample('node-http', env)
  const updated = await fetch(`${second.url}/v2/reseller/${data.license_key}/update`, {
    method: 'PUT',
    headers,
  })
  expect(updated.status).toBe(200)
  expect(await second.stop()).toBe(0)
  rmSync(folder, { recursive: true })
})
