import { once } from 'node:events'
import { expect, test } from 'vitest'
import { startPostgres } from '../storage/support/postgres-server.ts'
import { firstLine, run, start } from './support/cli.ts'

test('the command works on PostgreSQL, its URL taken from the environment', async () => {
  const postgres = await startPostgres()
  const env = { UTILITY_API_DATABASE: await postgres.createDatabase() }
  const early = await run(['purge'], env)
  expect(early.code).toBe(1)
  expect(early.stderr).toMatch(/To do so: utility-api migrate\n$/)
  expect(await run(['migrate'], env)).toMatchObject({ code: 0, stderr: '' })

  const { token } = JSON.parse((await run(['reseller', 'create', '--json'], env)).stdout) as { token: string }
  const child = start(['serve', '--port', '0'], env)
  const url = (await firstLine(child)).replace('Listening on ', '')
  const headers = {
    Authorization: `Bearer ${token}`,
    'X-Registered-To': 'Ada',
    'X-Domain-Or-IP': 'shop.example',
    'X-Status': 'valid',
  }
  const answer = await fetch(`${url}/v2/reseller/licenses/generate`, { method: 'POST', headers })
  expect(answer.status).toBe(200)
  child.kill('SIGTERM')
  expect(await once(child, 'close')).toEqual([0, null])
  expect((await run(['license', 'list'], env)).stdout).toContain('shop.example')
  await postgres.stop()
}, 60_000)
