import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
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

describe.skipIf(!hasRealServer())('against a real server', () => {
  let library: ReturnType<typeof loadRealServers>
  beforeAll(() => {
    library = loadRealServers()
  }, 60_000)

  async function startReal(options: object): Promise<number> {
    const server = await startRealServer(library, options)
    onTestFinished(() => server.close())
    return server.port
  }

  test.for(realVersions)('%s', async (wanted) => {
    const version = versionOf(library, wanted)
    const port = await startReal({ version })
    const status = await startClient().status({ host: '127.0.0.1', port })
    expect(status).toMatchObject({
      ip: '127.0.0.1',
      port,
      players: { online: 0, max: 42 },
      version: { name: versionName(version) },
      description: 'A real server',
      descriptionSpans: [
        { text: 'A real ', color: 'green' },
        { text: 'server', color: 'green', bold: true },
      ],
      favicon: icon,
      srvRecord: null,
    })
    expect(status.version.protocol).toBeGreaterThan(0)
    expect(status.latencyMs).toBeLessThan(1000)
  })

  test('many at once', async () => {
    const port = await startReal({ version: '1.16.5' })
    const client = startClient()
    const checks = Array.from({ length: 50 }, () => client.status({ host: '127.0.0.1', port }))
    for (const { players } of await Promise.all(checks)) expect(players).toEqual({ online: 0, max: 42 })
  })

  test('a status that the server generates on request', async () => {
    const port = await startReal({
      version: '1.19.4',
      beforePing: () => ({
        version: { name: 'proxy', protocol: 5 },
        players: { online: 7, max: 9 },
        description: ['a', 'b'],
      }),
    })
    const status = await startClient().status({ host: '127.0.0.1', port })
    expect(status).toMatchObject({
      version: { name: 'proxy', protocol: 5 },
      players: { online: 7, max: 9 },
      description: 'ab',
    })
  })
})
