import { createBlockgameClient } from 'utility-api/blockgame'
import { fakeBlockgameServer } from 'utility-api/testing'
import { describe, expect, test } from 'vitest'
import { hasPeer, importPeer, namesIn, programOf, run, textOf } from './programs.ts'

describe.skipIf(!hasPeer('minecraft-server-util'))('from minecraft-server-util', () => {
  type Show = (host: string, port: number) => Promise<unknown>
  interface Old {
    status(host: string, port: number, options: object): Promise<object>
    statusLegacy(host: string, port: number, options: object): Promise<Readonly<Record<string, unknown>>>
  }
  const icon = `data:image/png;base64,${Buffer.from('89504e470d0a1a0a', 'hex').toString('base64')}`
  // Tests ask loopback: ours refuses it, and theirs would ask the system's resolvers for its SRV record.
  const client = createBlockgameClient({ allowAddress: () => true })

  async function programs(): Promise<{ before: Show; after: Show; old: Old }> {
    const old = (await importPeer('minecraft-server-util')) as unknown as Old
    const status: Old['status'] = (host, port, options) =>
      old.status(host, port, { ...options, enableSRV: false })
    const { show: before } = await run(programOf('minecraft-server-util', 'import { status }'), {
      'minecraft-server-util': { status },
    })
    const { show: after } = await run(programOf('minecraft-server-util', 'import { createBlock'), {
      'utility-api/blockgame': { createBlockgameClient: () => client },
    })
    return { before: before as unknown as Show, after: after as unknown as Show, old }
  }

  const status = {
    version: { name: 'Paper 1.21.4', protocol: 769 },
    players: { online: 3, max: 20, sample: [{ name: 'Ada', id: '069a79f4-44e9-4726-a5be-fca90e38aaf5' }] },
    description: { text: 'Hello ', extra: [{ text: 'world', color: 'gold' }] },
    favicon: icon,
  }

  test('both programs show the same of a server', async () => {
    await using server = await fakeBlockgameServer({ status, chunkBytes: 7 })
    const { before, after } = await programs()
    const shown = await after(server.ip, server.port)
    expect(shown).toEqual({
      online: 3,
      max: 20,
      version: status.version,
      text: 'Hello world',
      names: ['Ada'],
      icon,
    })
    expect(await before(server.ip, server.port)).toEqual(shown)
  })

  test('both programs show the same of a server that says little', async () => {
    const { version } = status
    await using server = await fakeBlockgameServer({
      status: { version, players: { online: 0, max: 1 }, description: '' },
    })
    const { before, after } = await programs()
    const shown = await after(server.ip, server.port)
    expect(shown).toEqual({ online: 0, max: 1, version, text: '', names: [], icon: null })
    expect(await before(server.ip, server.port)).toEqual(shown)
  })

  test.each(['1.6', '1.4', 'beta'] as const)('a server of %s needs no second call', async (era) => {
    await using server = await fakeBlockgameServer({
      era,
      status: {
        version: { name: '1.6.4', protocol: 78 },
        players: { online: 3, max: 20 },
        description: 'Old',
      },
    })
    const { before, after, old } = await programs()
    await expect(before(server.ip, server.port)).rejects.toThrow()
    const legacy = await old.statusLegacy(server.ip, server.port, { enableSRV: false })
    expect(await after(server.ip, server.port)).toEqual({
      online: 3,
      max: 20,
      version: legacy['version'] ?? { name: '', protocol: -1 },
      text: (legacy['motd'] as { clean: string }).clean,
      names: [],
      icon: null,
    })
  })

  test('nobody answers: theirs rejects, ours says why', async () => {
    const { port, close } = await fakeBlockgameServer({})
    await close()
    const { before, after } = await programs()
    await expect(before('127.0.0.1', port)).rejects.toThrow()
    await expect(after('127.0.0.1', port)).rejects.toMatchObject({ reason: 'refused' })
  })

  test('what is said to be lost and to remain is there in theirs', async () => {
    const { old } = await programs()
    const text = textOf('minecraft-server-util')
    const lost = namesIn(text.slice(text.indexOf('## What you lose'))).filter((name) => /^\w+$/.test(name))
    expect(lost.length).toBeGreaterThan(5)
    expect(lost.filter((name) => !(name in old))).toEqual([])
  })
})
