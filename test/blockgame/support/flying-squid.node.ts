// flying-squid, a server that people play on, in a process of its own: it writes to the terminal and keeps timers.
import { once, type EventEmitter } from 'node:events'
import { createRequire } from 'node:module'
import { freePort } from '../../support/free-port.ts'

const load = createRequire(new URL('../../peers/package.json', import.meta.url))
const { createMCServer } = load('flying-squid') as { createMCServer(options: object): EventEmitter }
const { createClient } = load('minecraft-protocol') as { createClient(options: object): EventEmitter }

const { players, version, ...options } = JSON.parse(process.argv[2]!) as {
  players: readonly string[]
  version: string
}
const port = await freePort()
const server = createMCServer({
  host: '127.0.0.1',
  port,
  version,
  'online-mode': false,
  gameMode: 1,
  difficulty: 1,
  generation: { name: 'superflat', options: {} },
  kickTimeout: 60_000,
  plugins: {},
  'view-distance': 2,
  'player-list-text': { header: { text: '' }, footer: { text: '' } },
  'max-entities': 10,
  ...options,
})
await once(server, 'ready')
for (const username of players)
  await once(createClient({ host: '127.0.0.1', port, username, version, auth: 'offline' }), 'login')
process.send!(port)
process.once('disconnect', () => process.exit())
