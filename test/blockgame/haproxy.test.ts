import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fakeBlockgameServer, type FakeBlockgameServer } from '../../src/testing/blockgame-server.ts'
import { freePort } from '../support/free-port.ts'
import { startClient } from './support/harness.ts'

const program = process.env['HAPROXY'] ?? '/usr/sbin/haproxy'
const installed = existsSync(program)
if (!installed) console.log(`Skipped: there is no HAProxy at ${program} (set HAPROXY to one).`)

const icon = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAEA='
const status = {
  version: { name: 'Paper 1.21.4', protocol: 769 },
  players: { online: 7, max: 40, sample: [{ name: 'Ada', id: '0-1' }] },
  description: { text: 'Behind a proxy', color: 'gold' },
  favicon: icon,
}
const told = {
  version: { name: 'Paper 1.21.4', protocol: 769 },
  players: { online: 7, max: 40 },
  description: 'Behind a proxy',
  descriptionSpans: [{ text: 'Behind a proxy', color: 'gold' }],
  favicon: icon,
  sample: [{ name: 'Ada', id: '0-1' }],
}

describe.skipIf(!installed)('behind HAProxy', () => {
  let folder: string
  let haproxy: ChildProcess
  let game: FakeBlockgameServer
  let old: FakeBlockgameServer
  const ports = { plain: 0, proxied: 0, half: 0, down: 0, old: 0 }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'haproxy-'))
    game = await fakeBlockgameServer({ status })
    old = await fakeBlockgameServer({ era: '1.6' })
    const nobody = await freePort()
    for (const name of Object.keys(ports) as (keyof typeof ports)[]) ports[name] = await freePort()
    const server = (port: number): string => `server s${port} 127.0.0.1:${port}`
    const listen = (name: keyof typeof ports, bind: string, ...servers: readonly string[]): string =>
      [`listen ${name}`, `bind 127.0.0.1:${ports[name]} ${bind}`, 'balance roundrobin', ...servers].join(
        '\n  ',
      )
    const defaults = [
      'defaults',
      'mode tcp',
      'retries 0',
      'timeout connect 2s',
      'timeout client 10s',
      'timeout server 10s',
    ]
    const file = join(folder, 'haproxy.cfg')
    writeFileSync(
      file,
      [
        defaults.join('\n  '),
        listen('plain', '', server(game.port)),
        listen('proxied', 'accept-proxy', server(game.port)),
        listen('half', '', server(nobody), server(game.port)),
        listen('down', '', server(nobody)),
        listen('old', '', server(old.port)),
        '',
      ].join('\n'),
    )
    haproxy = spawn(program, ['-db', '-f', file], { stdio: 'ignore' })
    await listening(ports.old)
  })
  afterAll(async () => {
    haproxy.kill('SIGKILL')
    await once(haproxy, 'close')
    await Promise.all([game.close(), old.close()])
    rmSync(folder, { recursive: true })
  })

  const lookUp = (port: number, proxyProtocol?: 1 | 2) =>
    startClient().status({ host: '127.0.0.1', port, ...(proxyProtocol && { proxyProtocol }) })

  test('a server says what it was told', async () => {
    expect(await lookUp(ports.plain)).toMatchObject({ ...told, port: ports.plain })
  })

  test.for([1, 2] as const)('it does so behind a PROXY header of version %i', async (version) => {
    expect(await lookUp(ports.proxied, version)).toMatchObject(told)
  })

  test('a proxy that expects a header and gets none hangs up', async () => {
    await expect(lookUp(ports.proxied)).rejects.toMatchObject({ reason: 'closed' })
  })

  test('where one of two servers is down, the lookup gets to the other', async () => {
    // In turn, so that each begins with the other server.
    for (let round = 0; round < 4; round += 1) expect(await lookUp(ports.half)).toMatchObject(told)
  })

  test('where the only server is down, that is said', async () => {
    await expect(lookUp(ports.down)).rejects.toMatchObject({ reason: 'closed' })
  })

  test('an old server answers, too', async () => {
    expect((await lookUp(ports.old)).version).toEqual({ name: '1.21.4', protocol: 769 })
  })
})

async function listening(port: number, triesLeft = 500): Promise<void> {
  const socket = createConnection(port, '127.0.0.1')
  const isOpen = await new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
  })
  socket.destroy()
  if (isOpen) return
  if (triesLeft === 0) throw new Error('HAProxy does not listen.')
  await delay(10)
  await listening(port, triesLeft - 1)
}
