import { expect, test } from 'vitest'
import { startExample } from '../../test/package/start-example.ts'

test('it serves the operations under /api', async () => {
  const example = await startExample('koa', { DATABASE: ':memory:' })
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
  for (const [type, status] of [
    ['application/x-www-form-urlencoded', 400],
    ['text/plain', 415],
  ] as const) {
    const refused = await fetch(`${example.url}/api/v4/oauth2/token`, {
      method: 'POST',
      headers: { 'Content-Type': type },
      body: 'grant_type=authorization_code',
    })
    expect(refused.status).toBe(status)
    expect(await refused.json()).toMatchObject({ error: 'invalid_request' })
  }
  expect(await (await fetch(example.url)).text()).toBe('A page of our own.\n')
  expect(await example.stop()).toBe(0)
})
