import { once, type EventEmitter } from 'node:events'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { startClient } from './support/harness.ts'

// A server of the library that most tools of this field build on, with the game's real packets.
const peers = new URL('../peers/', import.meta.url)
const installed = existsSync(new URL('node_modules/minecraft-protocol', peers))
if (!installed) console.log('Skipped: minecraft-protocol is not installed; run `npm ci` in test/peers.')

const icon = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAEA='

interface RealServer extends EventEmitter {
  readonly socketServer: EventEmitter & { address(): { port: number } }
  close(): void
}
interface Library {
  createServer(options: object): RealServer
  readonly supportedVersions: readonly string[]
}

describe.skipIf(!installed)('against a real server', () => {
  let library: Library
  beforeAll(() => {
    library = createRequire(new URL('package.json', peers))('minecraft-protocol') as Library
  }, 60_000)

  async function startReal(options: object): Promise<number> {
    const defaults = {
      host: '127.0.0.1',
      port: 0,
      'online-mode': false,
      motd: '§aA real §lserver',
      maxPlayers: 42,
      favicon: icon,
    }
    const server = library.createServer({ ...defaults, ...options })
    onTestFinished(() => server.close())
    await once(server, 'listening')
    return server.socketServer.address().port
  }

  test.for(['1.7', '1.8.8', '1.12.2', '1.16.5', '1.19.4', 'newest'])('%s', async (wanted) => {
    const version = wanted === 'newest' ? library.supportedVersions.at(-1)! : wanted
    const port = await startReal({ version })
    const status = await startClient().status({ host: '127.0.0.1', port })
    expect(status).toMatchObject({
      ip: '127.0.0.1',
      port,
      players: { online: 0, max: 42 },
      // A line of versions answers with the name of its last.
      version: { name: version === '1.7' ? '1.7.10' : version },
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
