import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { startExample } from '../../test/package/start-example.ts'

test('the lines it prints do what they say', async () => {
  const example = await startExample('guarded-route')
  await expect.poll(example.output).toContain('No credential')
  const answers: string[][] = []
  for (const [, url = '', authorization] of example.output().matchAll(/curl -i (\S+)(?: -H '([^']+)')?/g)) {
    const header = authorization === undefined ? [] : ['-H', authorization]
    const { stdout } = await promisify(execFile)('curl', ['-si', url, ...header])
    const [head = '', body = ''] = stdout.split('\r\n\r\n')
    const [status = ''] = head.split('\r\n')
    answers.push([status.split(' ')[1] ?? '', /^www-authenticate: (.*)$/im.exec(head)?.[1] ?? '', body])
  }
  const orders = '["a difference engine"]'
  const bare = 'Bearer realm="utility-api"'
  expect(answers).toEqual([
    ['200', '', orders],
    ['200', '', orders],
    ['403', `${bare}, error="insufficient_scope", scope="orders:read"`, expect.any(String)],
    ['401', bare, '{"error":"invalid_token","message":"The bearer token is missing."}'],
  ])
  expect(await example.stop()).toBe(0)
})
