import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { fakeBlockgameServer, fakeDnsServer } from 'utility-api/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { firstLine, outcomeOf, run, start, temporaryFolder } from './support/cli.ts'
import { runHere } from './support/cli-here.ts'

// oxlint-disable-next-line no-control-regex
const steering = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/
const hostileText = 'a\u001b[2J\u007f\u0085\u009b31m\u061c\u200e\u202e\u2066red'
const folder = temporaryFolder()
let right: Awaited<ReturnType<typeof fakeDnsServer>>
let stale: Awaited<ReturnType<typeof fakeDnsServer>>
let game: Awaited<ReturnType<typeof fakeBlockgameServer>>
let servers: string

beforeAll(async () => {
  const txt = {
    type: 'TXT',
    host: 'shop.example',
    ttl: 60,
    txt: hostileText,
    entries: [hostileText],
  } as const
  const moved = { type: 'A', host: 'shop.example', ttl: 300, ip: '203.0.113.20' } as const
  right = await fakeDnsServer({ records: [moved, txt] })
  stale = await fakeDnsServer({ records: [{ ...moved, ip: '198.51.100.7' }, txt], delayMs: 50 })
  game = await fakeBlockgameServer({
    status: {
      version: { name: '1.21.4\u001b[2J', protocol: 769 },
      players: { online: 2, max: 20, sample: [{ name: 'Ada\u202e', id: '1' }] },
      description: 'Welcome\u001b[2J',
    },
  })
  servers = `127.0.0.1:${right.port},127.0.0.1:${stale.port}`
})

afterAll(async () => {
  await Promise.all([right.close(), stale.close(), game.close()])
  folder.remove()
})

describe('dns', () => {
  test('prints a table and how the answers compare', async () => {
    const { code, stdout, stderr } = await runHere(['dns', 'shop.example', '--server', servers])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^LOCATION +RESOLVER +TIME +ANSWER$/m)
    expect(stdout).toMatch(/^127\.0\.0\.1:\d+ +127\.0\.0\.1 +\d+ ms +203\.0\.113\.20$/m)
    expect(stdout).toMatch(/\n2 of 2 resolvers have records, and they differ: 2 answers\.\n$/)
    expect(stdout).not.toContain('\u001b')
  })

  test('prints as JSON what the operation answers', async () => {
    const { stdout } = await runHere(['dns', 'SHOP.example.', 'a', '--server', servers, '--json'])
    expect(JSON.parse(stdout)).toMatchObject([
      {
        resolved: true,
        status: 'NOERROR',
        dns_results: [{ type: 'A', host: 'shop.example', ip: '203.0.113.20' }],
      },
      { resolved: true, dns_results: [{ ip: '198.51.100.7' }] },
    ])
  })

  test('ends with code 1 when nobody has a record', async () => {
    const { code, stdout } = await runHere(['dns', 'other.example', '--server', servers])
    expect(code).toBe(1)
    expect(stdout).toMatch(/ NXDOMAIN$/m)
    expect(stdout).toContain('0 of 2 resolvers have records.')
  })

  test('lets no record steer the terminal', async () => {
    const { stdout } = await runHere(['dns', 'shop.example', 'TXT', '--server', servers])
    expect(stdout).toContain('red')
    expect(stdout).not.toMatch(steering)
  })

  test('escapes in JSON what would steer the terminal, and keeps the value', async () => {
    const { stdout } = await runHere(['dns', 'shop.example', 'TXT', '--server', servers, '--json'])
    expect(stdout).not.toMatch(steering)
    expect(JSON.parse(stdout)).toMatchObject([{ dns_results: [{ txt: hostileText }] }, {}])
  })

  test.skipIf(!existsSync('/usr/bin/script'))('fills the table on a terminal as answers come', async () => {
    const line = [
      process.execPath,
      '--import ./test/support/sources.ts adapters/cli/main.ts dns shop.example',
      `--server ${servers}`,
    ].join(' ')
    const stdout = await runOnTerminal(line)
    expect(stdout).toContain('…')
    expect(stdout).toContain('\u001b[3A\u001b[0J')
    expect(stdout).toContain('\u001b[32m')
    const last = stdout.slice(stdout.lastIndexOf('LOCATION'))
    expect(last).toContain('203.0.113.20')
    expect(last).toContain('198.51.100.7')
  })
})

async function runOnTerminal(line: string): Promise<string> {
  const child = spawn('script', ['-qec', `stty cols 100; ${line}`, '/dev/null'], {
    env: { PATH: process.env['PATH'] ?? '', TERM: 'xterm' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return (await outcomeOf(child)).stdout
}

describe('ping', () => {
  test('prints what a person wants to see', async () => {
    const { code, stdout, stderr } = await runHere(['ping', `${game.ip}:${game.port}`])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain(`${game.ip}:${game.port} is up\n  Welcome`)
    expect(stdout).toMatch(/^Players {2}2 of 20 {2}Ada/m)
    expect(stdout).toMatch(/^Version {2}1\.21\.4.* \(protocol 769\)$/m)
    expect(stdout).toMatch(/^Ping {5}\d+ ms$/m)
    expect(stdout).not.toMatch(steering)
  })

  test('prints JSON', async () => {
    const { stdout } = await runHere(['ping', `${game.ip}:${game.port}`, '--json'])
    expect(JSON.parse(stdout)).toMatchObject({
      ip: game.ip,
      players: { online: 2, max: 20 },
      srvRecord: null,
    })
  })

  test('says why there is no status', async () => {
    const closed = await fakeBlockgameServer()
    await closed.close()
    const { code, stderr } = await runHere(['ping', `${closed.ip}:${closed.port}`])
    expect(code).toBe(1)
    expect(stderr).toBe('Nothing listens there: the server is down, or its port is another one.\n')
  })
})

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

    const headers = {
      Authorization: `Bearer ${token}`,
      'X-Registered-To': 'Ada',
      'X-Domain-Or-IP': 'shop.example',
      'X-Status': 'valid',
    }
    const answer = await fetch(`${url}/v2/reseller/licenses/generate`, { method: 'POST', headers })
    expect(answer.status).toBe(200)

    const other = await run(['serve', '--port', new URL(url).port], env)
    expect(other).toMatchObject({ code: 1, stdout: '' })
    expect(other.stderr).toContain('is taken. Choose another one with --port.')

    child.kill('SIGTERM')
    const [code] = (await once(child, 'close')) as [number]
    expect(code).toBe(0)
  })

  test('ends at SIGTERM though a request trickles in for ever', async () => {
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

  test('does not start on a database without tables', async () => {
    const file = join(folder.path, 'bare.sqlite')
    new DatabaseSync(file).close()
    const { code, stderr } = await run(['serve', '--database', file])
    expect(code).toBe(1)
    expect(stderr).toContain('utility-api migrate')
  })
})
