import { fakeBlockgameServer, type FakeBlockgameServer } from 'utility-api/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { widthOf } from '../../../adapters/cli/terminal/terminal-text.ts'
import { runHere } from '../support/cli-here.ts'
import { runOnTerminal } from '../support/on-terminal.ts'

// oxlint-disable-next-line no-control-regex
const steering = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/
const icon = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAEA='
let game: FakeBlockgameServer
let address: string

beforeAll(async () => {
  const names = ['Ada\u202e', 'Grace', '山田太郎', ...Array.from({ length: 12 }, (_, at) => `Player_${at}`)]
  game = await fakeBlockgameServer({
    status: {
      version: { name: '1.21.4\u001b[2J', protocol: 769 },
      players: { online: 15, max: 20, sample: names.map((name, at) => ({ name, id: String(at) })) },
      favicon: icon,
      enforcesSecureChat: true,
      forgeData: {
        mods: [
          { modId: 'jei', modmarker: '7.6' },
          { modId: 'cr\u001beate', modmarker: '' },
        ],
      },
      description: `§6Welcome\u001b[2J to a server whose greeting is longer than a narrow window\n${'ようこそ'.repeat(12)}`,
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
  expect(stdout).toMatch(
    /^Icon {5}a PNG of 20 bytes\nChat {5}signed messages only\nMods {5}2: jei 7\.6, create$/m,
  )
  expect(stdout).toMatch(new RegExp(`^Address {2}${address}$`, 'm'))
  expect(stdout).not.toMatch(steering)
})

test('prints as JSON what the operation answers, and all else that the server says', async () => {
  const { stdout } = await runHere(['ping', address, '--json'])
  const { description, descriptionSpans, sample, ...rest } = JSON.parse(stdout) as Record<string, unknown>
  expect(rest).toEqual({
    ip: game.ip,
    port: String(game.port),
    players: { online: 15, max: 20 },
    version: { name: '1.21.4[2J', protocol: 769 },
    ping: expect.stringMatching(/^\d+ms$/),
    srvRecord: {},
    favicon: icon,
    enforcesSecureChat: true,
    mods: [
      { id: 'jei', version: '7.6' },
      { id: 'create', version: '' },
    ],
  })
  expect(description).toMatch(/^Welcome\[2J to a server/)
  expect(descriptionSpans).toEqual([{ text: description, color: 'gold' }])
  expect(sample).toHaveLength(15)
})

test('says another name in the handshake', async () => {
  const handshake = async (text: string) => {
    expect(await runHere(['ping', address, '--handshake', text])).toMatchObject({ code: 0, stderr: '' })
    return game.connections.at(-1)?.handshake
  }
  const { port } = game
  expect(await handshake('Lobby.example')).toMatchObject({ host: 'Lobby.example', port })
  expect(await handshake('a.example:25565')).toMatchObject({ host: 'a.example', port: 25565 })
  expect(await handshake('[2001:db8::1]:1')).toMatchObject({ host: '2001:db8::1', port: 1 })
  expect(await handshake('2001:db8::1')).toMatchObject({ host: '2001:db8::1', port })
})

test.each(['a b', 'a.example:0', 'a.example:70000', '127.1', 'a.example:x'])(
  '--handshake %j is refused',
  async (handshake) => {
    const { code, stderr } = await runHere(['ping', address, '--handshake', handshake])
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('--handshake must be HOST') })
  },
)

test('waits as long as it is told', async () => {
  const silent = await fakeBlockgameServer({ script() {} })
  expect(await runHere(['ping', `${silent.ip}:${silent.port}`, '--timeout', '1s'])).toEqual({
    code: 1,
    stdout: '',
    stderr: 'No status within a second: the server is down or hangs, or a firewall drops the packets.\n',
  })
  await silent.close()
  for (const timeout of ['0', '61', '1.5']) {
    const { code, stderr } = await runHere(['ping', address, '--timeout', timeout])
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining('--timeout must be 1 to 60 seconds, or a time such as 30s.'),
    })
  }
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
  expect(await runHere(['ping', `${closed.ip}:${closed.port}`])).toEqual({
    code: 1,
    stdout: '',
    stderr: 'Nothing listens there, or no route leads there. Is the server up, and the port right?\n',
  })
  const other = await fakeBlockgameServer({ status: 'nonsense' })
  expect((await runHere(['ping', `${other.ip}:${other.port}`])).stderr).toBe(
    'Something answered, but not with the status of a Minecraft server.\n',
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

test('a dead server is an object of JSON as well, and of several hosts each has a line', async () => {
  const closed = await fakeBlockgameServer()
  await closed.close()
  const dead = `${closed.ip}:${closed.port}`
  const one = await runHere(['ping', dead, '--json'])
  expect(one.code).toBe(1)
  const error = { error: 'server_check_failed', reason: 'refused', message: expect.any(String) }
  expect(JSON.parse(one.stdout)).toEqual(error)
  const { code, stdout, stderr } = await runHere(['ping', dead, address, '--json'])
  expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown)
  expect(lines).toEqual([{ host: dead, ...error }, expect.objectContaining({ host: address, ip: game.ip })])
  const forPeople = await runHere(['ping', dead, address])
  expect(forPeople.stderr).toContain(`${dead}: Nothing listens there`)
  expect(forPeople.stdout).toContain(`${address} is up`)
})
