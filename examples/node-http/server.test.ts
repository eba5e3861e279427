import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startExample, type RunningExample } from '../../test/package/start-example.ts'

test('it serves, keeps its licenses across a restart, and stops cleanly', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'utility-api-example-'))
  const env = { DATABASE: join(folder, 'utility.sqlite') }
  const first = await startExample('node-http', env)
  const made = await fetch(`${first.url}/v2/reseller/licenses/generate`, {
    method: 'POST',
    headers: await headersOf(first),
  })
  expect(made.status).toBe(200)
  const { data } = (await made.json()) as { data: { license_key: string } }
  expect(await first.stop()).toBe(0)

  // Another token of the same reseller: only the owner of a license can update it.
  const second = await startExample('node-http', env)
  const updated = await fetch(`${second.url}/v2/reseller/${data.license_key}/update`, {
    method: 'PUT',
    headers: await headersOf(second),
  })
  expect(updated.status).toBe(200)
  expect(await second.stop()).toBe(0)
  rmSync(folder, { recursive: true })
})

async function headersOf({ output }: RunningExample): Promise<Record<string, string>> {
  await expect.poll(output).toContain('Authorization')
  return {
    Authorization: `Bearer ${/Bearer (\S+)'/.exec(output())?.[1]}`,
    'X-Registered-To': 'Ada',
    'X-Domain-Or-IP': 'shop.example',
    'X-Status': 'valid',
  }
}
