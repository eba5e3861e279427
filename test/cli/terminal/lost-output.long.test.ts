/** What happens when nobody reads what the command prints, or the disk under it is full. */
import { spawn, type StdioOptions } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { fakeDnsServer } from 'utility-api/testing'
import { afterAll, expect, test } from 'vitest'
import { firstLine, outcomeOf, shared, temporaryFolder } from '../support/cli.ts'
import { runHere } from '../support/cli-here.ts'

const folder = temporaryFolder()
afterAll(() => folder.remove())
const env = { ...shared, UTILITY_API_DATABASE: join(folder.path, 'lost.sqlite') }
const full = '/dev/full'

const startWith = (args: readonly string[], stdio: StdioOptions): ReturnType<typeof spawn> =>
  spawn(process.execPath, ['--import', './test/support/sources.ts', 'adapters/cli/main.ts', ...args], {
    env,
    stdio,
  })

test.runIf(existsSync(full)).each(['a full disk', 'a closed pipe'])(
  'serve goes on serving with %s under its log',
  async (log) => {
    await runHere(['migrate'], env)
    const toFullDisk = log === 'a full disk'
    const child = startWith(
      ['serve', '--port', '0'],
      ['ignore', 'pipe', toFullDisk ? openSync(full, 'w') : 'pipe'],
    )
    const url = (await firstLine(child)).replace('Listening on ', '')
    child.stderr?.destroy()
    for (let count = 0; count < 5; count += 1) {
      // oxlint-disable-next-line no-await-in-loop -- each line is lost on its own
      expect((await fetch(`${url}/v3/tools/dnscheck`)).status).toBe(401)
    }
    child.kill('SIGTERM')
    expect(await once(child, 'close')).toEqual([0, null])
  },
)

test.runIf(existsSync(full))('a secret that could not be printed is no success', async () => {
  await runHere(['migrate'], env)
  const { code, stderr } = await outcomeOf(
    startWith(['reseller', 'create'], ['ignore', openSync(full, 'w'), 'pipe']),
  )
  expect(code).toBe(1)
  expect(stderr).toContain('The output could not be written: ENOSPC')
})

test('dns --watch ends when nobody reads it any longer', async () => {
  const zone = (ip: string): Parameters<typeof fakeDnsServer>[0] => ({
    records: [{ type: 'A', host: 'a.example', ttl: 60, ip }],
  })
  await using one = await fakeDnsServer(zone('192.0.2.1'))
  await using two = await fakeDnsServer(zone('192.0.2.2'))
  const servers = `one=127.0.0.1:${one.port},two=127.0.0.1:${two.port}`
  const child = startWith(
    ['dns', 'a.example', '--watch', '--interval', '1', '--server', servers],
    ['ignore', 'pipe', 'pipe'],
  )
  child.stdout?.destroy()
  expect(await outcomeOf(child)).toMatchObject({ code: 1, stderr: '' })
})
