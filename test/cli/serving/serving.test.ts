import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, describe, expect, test } from 'vitest'
import { firstLine, run, start, temporaryFolder } from '../support/cli.ts'
import { runHere } from '../support/cli-here.ts'
import { licenseHeaders } from '../../support/license-headers.ts'

const folder = temporaryFolder()
afterAll(() => folder.remove())

describe('serve', () => {
  test('serves below its prefix until it is stopped', async () => {
    const file = join(folder.path, 'serve.sqlite')
    const env = { UTILITY_API_DATABASE: file }
    await runHere(['migrate'], env)
    const { stdout } = await runHere(['reseller', 'create', '--json'], env)
    const { token } = JSON.parse(stdout) as { token: string }
    const child = start(['serve', '--port', '0', '--prefix', '/api'], env)
    const line = await firstLine(child)
    const url = line.replace('Listening on ', '')
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/api$/)

    const headers = licenseHeaders(token)
    const answer = await fetch(`${url}/v2/reseller/licenses/generate`, { method: 'POST', headers })
    expect(answer.status).toBe(200)

    // The page of `dev` would hand credentials to whoever asks.
    for (const page of [new URL('/', url), `${url}/`, new URL('/dev/values', url), `${url}/dev/values`])
      expect([page, (await fetch(page)).status]).toEqual([page, 404])

    const other = await run(['serve', '--port', new URL(url).port], env)
    expect(other).toMatchObject({ code: 1, stdout: '' })
    expect(other.stderr).toContain('is in use. Choose another with --port.')
    const nowhere = await run(['serve', '--host', '203.0.113.1'], env)
    expect(nowhere.stderr).toContain('This machine has no address 203.0.113.1. Choose another with --host.')

    child.kill('SIGTERM')
    const [code] = (await once(child, 'close')) as [number]
    expect(code).toBe(0)
  })

  test('ends at SIGTERM although a request trickles in without end', async () => {
    const env = { UTILITY_API_DATABASE: join(folder.path, 'trickle.sqlite') }
    await runHere(['migrate'], env)
    const child = start(['serve', '--port', '0', '--drain', '1'], env)
    const { port, hostname } = new URL((await firstLine(child)).replace('Listening on ', ''))
    const socket = connect(Number(port), hostname).on('error', () => {})
    await once(socket, 'connect')
    socket.write('GET /v3/tools/dnscheck HTTP/1.1\r\nHost: localhost\r\nX-Long: ')
    const timer = setInterval(() => socket.write('a'), 20)
    socket.once('close', () => clearInterval(timer))
    await delay(100)
    child.kill('SIGTERM')
    expect(await once(child, 'close')).toEqual([0, null])
  })

  test('logs nothing but JSON if that was asked for, at its end too', async () => {
    const env = { UTILITY_API_DATABASE: join(folder.path, 'json.sqlite') }
    await runHere(['migrate'], env)
    const child = start(['serve', '--port', '0', '--drain', '1s', '--log', 'json'], env)
    let log = ''
    child.stderr?.on('data', (chunk) => (log += String(chunk)))
    const url = (await firstLine(child)).replace('Listening on ', '')
    await (await fetch(url)).arrayBuffer()
    child.kill('SIGTERM')
    await once(child, 'close')
    const entries = log
      .trim()
      .split('\n')
      .map((line): unknown => JSON.parse(line))
    expect(entries).toMatchObject([
      { message: expect.stringMatching(/^At most \d+ connections at once; /) },
      { message: 'request' },
      { message: 'Stopping within 1 s.' },
    ])
  })

  test('does not start on a database without tables', async () => {
    const file = join(folder.path, 'bare.sqlite')
    new DatabaseSync(file).close()
    const { code, stderr } = await run(['serve', '--database', file])
    expect(code).toBe(1)
    expect(stderr).toContain('utility-api migrate')
  })
})
