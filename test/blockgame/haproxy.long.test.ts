import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { fakeBlockgameServer, type FakeBlockgameServer } from '../../src/testing/blockgame-server.ts'
import { freePort } from '../support/free-port.ts'
import { expectEveryWay, hasHaproxy, listen, lookUp, server, startHaproxy } from './support/haproxy.ts'
import {
  hasRealServer,
  icon,
  loadRealServers,
  realVersions,
  startRealServer,
  versionName,
  versionOf,
} from './support/real-server.ts'

const installed = hasHaproxy()

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
    const { protocol } = (await lookUp(real.port)).version
    expect(protocol).toBeGreaterThan(0)
    await expectEveryWay(real.port, {
      ip: '127.0.0.1',
      players,
      version: { name: versionName(version), protocol },
      description: `Server of ${version}`,
      descriptionSpans: [{ text: `Server of ${version}`, color: 'gold' }],
      favicon: icon,
    })
  })
})
