import { expect, test } from 'vitest'
import { startExample } from '../../test/package/start-example.ts'

test('it serves the operations under /api, beside pages of its own', async () => {
  const example = await startExample('express', { DATABASE: ':memory:' })
  await expect.poll(example.output).toContain('X-Status')
  const token = /Bearer (\S+)'/.exec(example.output())?.[1]
  const made = await fetch(`${example.url}/api/v2/reseller/licenses/generate`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${token}`,
      'X-Registered-To': 'Ada',
      'X-Domain-Or-IP': 'shop.example',
      'X-Status': 'valid',
    },
  })
  expect(made.status).toBe(200)
  for (const [body, problem] of [
    ['{"grant_type":"authorization_code"}', 'client_id is missing.'],
    ['{', 'The body is not valid JSON.'],
  ] as const) {
    const headers = { 'Content-Type': 'application/json' }
    // oxlint-disable-next-line no-await-in-loop
    const refused = await fetch(`${example.url}/api/v4/oauth2/token`, { method: 'POST', headers, body })
    // oxlint-disable-next-line no-await-in-loop
    expect(await refused.json()).toStrictEqual({ error: 'invalid_request', error_description: problem })
  }
  expect(await (await fetch(`${example.url}/api/health`)).json()).toStrictEqual({ storage: 'ok' })
  const other = await fetch(`${example.url}/api/other`)
  expect(await other.text()).toMatch(/page of our own/)
  expect(await example.stop()).toBe(0)
})
