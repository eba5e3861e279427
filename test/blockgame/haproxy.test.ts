import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { ServerStatus } from '../../src/domain/server-status.ts'
import { fakeBlockgameServer, type FakeBlockgameServer } from '../../src/testing/blockgame-server.ts'
import { freePort } from '../support/free-port.ts'
import { startClient } from './support/harness.ts'
import {
  hasRealServer,
  icon,
  loadRealServers,
  realVersions,
  startRealServer,
  versionName,
  versionOf,
} from './support/real-server.ts'

const program = process.env['HAPROXY'] ?? '/usr/sbin/haproxy'
const installed = existsSync(program)
if (!installed) console.log(`Skipped: there is no HAProxy at ${program} (set HAPROXY to one).`)

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
  let haproxy: AsyncDisposable
  let game: FakeBlockgameServer
  let old: FakeBlockgameServer
  const ports = { plain: 0, proxied: 0, half: 0, down: 0, old: 0 }

  beforeAll(async () => {
    game = await fakeBlockgameServer({ status })
    old = await fakeBlockgameServer({ era: '1.6' })
    const nobody = await freePort()
    for (const name of Object.keys(ports) as (keyof typeof ports)[]) ports[name] = await freePort()
    haproxy = await startHaproxy(
      listen(ports.plain, '', server(game.port)),
      listen(ports.proxied, 'accept-proxy', server(game.port)),
      listen(ports.half, '', server(nobody), server(game.port)),
      listen(ports.down, '', server(nobody)),
      listen(ports.old, '', server(old.port)),
    )
  })
  afterAll(async () => {
    await haproxy?.[Symbol.asyncDispose]()
    await Promise.all([game?.close(), old?.close()])
  })

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

describe.skipIf(!installed || !hasRealServer())('real servers behind HAProxy', () => {
  let library: ReturnType<typeof loadRealServers>
  beforeAll(() => {
    library = loadRealServers()
  }, 60_000)

  test.for(realVersions)('%s: by every way the same, as it was told', async (wanted) => {
    const version = versionOf(library, wanted)
    const players = { online: 7, max: 40 }
    const real = await startRealServer(library, {
      version,
      motd: `§6Server of ${version}`,
      maxPlayers: players.max,
      beforePing: (sent: object) => ({ ...sent, players }),
    })
    onTestFinished(() => real.close())
    const direct = await lookUp(real.port)
    const [plain, proxied, twice, half, down, nobody] = await Promise.all(
      Array.from({ length: 6 }, () => freePort()),
    )
    await using _ = await startHaproxy(
      listen(plain!, '', server(real.port)),
      listen(proxied!, 'accept-proxy', server(real.port)),
      listen(twice!, '', `${server(proxied!)} send-proxy-v2`),
      listen(half!, '', server(nobody!), server(real.port)),
      listen(down!, '', server(nobody!)),
    )
    const expected = {
      ip: '127.0.0.1',
      players,
      version: { name: versionName(version), protocol: direct.version.protocol },
      description: `Server of ${version}`,
      descriptionSpans: [{ text: `Server of ${version}`, color: 'gold' }],
      favicon: icon,
    }
    expect(expected.version.protocol).toBeGreaterThan(0)
    expect(direct).toMatchObject(expected)
    expect(await lookUp(plain!)).toMatchObject(expected)
    expect(await lookUp(proxied!, 1)).toMatchObject(expected)
    expect(await lookUp(proxied!, 2)).toMatchObject(expected)
    expect(await lookUp(twice!)).toMatchObject(expected)
    for (let round = 0; round < 4; round += 1) expect(await lookUp(half!)).toMatchObject(expected)
    await expect(lookUp(down!)).rejects.toMatchObject({ reason: 'closed' })
    await expect(lookUp(proxied!)).rejects.toMatchObject({ reason: 'closed' })
  })
})

function lookUp(port: number, proxyProtocol?: 1 | 2): Promise<ServerStatus> {
  return startClient().status({ host: '127.0.0.1', port, ...(proxyProtocol && { proxyProtocol }) })
}

function server(port: number): string {
  return `server s${port} 127.0.0.1:${port}`
}

function listen(port: number, bind: string, ...servers: readonly string[]): string {
  return [`listen p${port}`, `bind 127.0.0.1:${port} ${bind}`, 'balance roundrobin', ...servers].join('\n  ')
}

/** Starts it with these sections, and waits until the last of them listens. */
async function startHaproxy(...sections: readonly string[]): Promise<AsyncDisposable> {
  const folder = mkdtempSync(join(tmpdir(), 'haproxy-'))
  const timeouts = ['timeout connect 2s', 'timeout client 10s', 'timeout server 10s']
  const defaults = ['defaults', 'mode tcp', 'retries 0', ...timeouts].join('\n  ')
  const file = join(folder, 'haproxy.cfg')
  writeFileSync(file, [defaults, ...sections, ''].join('\n'))
  const haproxy = spawn(program, ['-db', '-f', file], { stdio: 'ignore' })
  const dispose = async (): Promise<void> => {
    haproxy.kill('SIGKILL')
    await once(haproxy, 'close')
    rmSync(folder, { recursive: true })
  }
  await listening(Number(/bind 127\.0\.0\.1:(\d+)/.exec(sections.at(-1)!)?.[1]))
  return { [Symbol.asyncDispose]: dispose }
}

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
