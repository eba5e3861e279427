import { fakeBlockgameServer, type FakeBlockgameServer } from 'utility-api/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { widthOf } from '../../../adapters/cli/terminal/terminal-text.ts'
import { runHere } from '../support/cli-here.ts'
import { runOnTerminal } from '../support/on-terminal.ts'

// oxlint-disable-next-line no-control-regex
const steering = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/
let game: FakeBlockgameServer
let address: string

beforeAll(async () => {
  const names = ['Ada\u202e', 'Grace', '山田太郎', ...Array.from({ length: 12 }, (_, at) => `Player_${at}`)]
  game = await fakeBlockgameServer({
    status: {
      version: { name: '1.21.4\u001b[2J', protocol: 769 },
      players: { online: 15, max: 20, sample: names.map((name, at) => ({ name, id: String(at) })) },
      description: `Welcome\u001b[2J to a server whose greeting is longer than a narrow window\n${'ようこそ'.repeat(12)}`,
    },
  })
  address = `${game.ip}:${game.port}`
})
afterAll(() => game.close())

test('prints what a person wants to see', async () => {
  const { code, stdout, stderr } = await runHere(['ping', address])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toContain(`${address} is up\n  Welcome`)
  expect(stdout).toMatch(/^Players {2}15 of 20: Ada.*, Grace, 山田太郎, .*Player_11$/m)
  expect(stdout).toMatch(/^Version {2}1\.21\.4.* \(protocol 769\)$/m)
  expect(stdout).toMatch(/^Ping {5}\d+ ms$/m)
  expect(stdout).toMatch(new RegExp(`^Address {2}${address}$`, 'm'))
  expect(stdout).not.toMatch(steering)
})

test('prints as JSON what the operation answers', async () => {
  const { stdout } = await runHere(['ping', address, '--json'])
  expect(JSON.parse(stdout)).toEqual({
    ip: game.ip,
    port: String(game.port),
    players: { online: 15, max: 20 },
    version: { name: '1.21.4[2J', protocol: 769 },
    ping: expect.stringMatching(/^\d+ms$/),
    srvRecord: {},
  })
})

test.each([80, 40])('no line is wider than a terminal of %i columns', async (columns) => {
  const { lines } = await runOnTerminal(['ping', address], columns)
  expect(lines.filter((line) => widthOf(line) > columns)).toEqual([])
  expect(lines.join('').replaceAll(' ', '')).toContain('ようこそ'.repeat(12))
  expect(lines.join(' ')).toContain('Player_11')
})

test('says why there is no status', async () => {
  const closed = await fakeBlockgameServer()
  await closed.close()
  expect(await runHere(['ping', `${closed.ip}:${closed.port}`, '--json'])).toEqual({
    code: 1,
    stdout: '',
    stderr: 'Nothing listens there: the server is down, or uses another port.\n',
  })
  const other = await fakeBlockgameServer({ status: 'nonsense' })
  expect((await runHere(['ping', `${other.ip}:${other.port}`])).stderr).toBe(
    'Something answered, but it is not a block-game server.\n',
  )
  await other.close()
})

test.each([
  '',
  'a b',
  'https://a.example/',
  '127.1',
  'a.example:0',
  'a.example:70000',
  '[a.example]:1',
  'a\nb',
])('%j is not an address', async (host) => {
  const { code, stderr } = await runHere(['ping', host])
  expect(code).toBe(2)
  expect(stderr).toMatch(/is not an address: HOST, HOST:PORT or \[IPv6\]:PORT\.\n|Missing required/)
})
