import { once, type EventEmitter } from 'node:events'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { connect } from 'node:net'

// A server of the library that most tools of this field build on, with the game's real packets.
const peers = new URL('../../peers/', import.meta.url)

/** Whether there is such a server to test with; says so where there is none. */
export function hasRealServer(): boolean {
  if (existsSync(new URL('node_modules/minecraft-protocol', peers))) return true
  console.log('Skipped: minecraft-protocol is not installed; run `npm ci` in test/peers.')
  return false
}

interface LibraryServer extends EventEmitter {
  readonly socketServer: EventEmitter & { address(): { port: number } }
  close(): void
}
interface Library {
  createServer(options: object): LibraryServer
  readonly supportedVersions: readonly string[]
}

export const icon = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAEA='

/** One version of each kind of server, oldest first. */
export const realVersions = ['1.7', '1.8.8', '1.12.2', '1.16.5', '1.19.4', 'newest'] as const

/** Loads the library, which takes a second or more. */
export function loadRealServers(): Library {
  return createRequire(new URL('package.json', peers))('minecraft-protocol') as Library
}

export function versionOf({ supportedVersions }: Library, wanted: (typeof realVersions)[number]): string {
  return wanted === 'newest' ? supportedVersions.at(-1)! : wanted
}

/** The name that a server of this version answers with: a line of versions has the name of its last. */
export function versionName(version: string): string {
  return version === '1.7' ? '1.7.10' : version
}

export interface RealServer {
  readonly port: number
  close(): void
}

export async function startRealServer({ createServer }: Library, options: object): Promise<RealServer> {
  const server = createServer({
    host: '127.0.0.1',
    port: 0,
    'online-mode': false,
    motd: '§aA real §lserver',
    maxPlayers: 42,
    favicon: icon,
    ...options,
  })
  await once(server, 'listening')
  const { port } = server.socketServer.address()
  await askOnce(port)
  return { port, close: () => server.close() }
}

/** A handshake without a host, and a status request. */
const statusRequest = Buffer.from('060000000001010100', 'hex')

/** The library compiles its packets for the first client, which takes seconds on a busy machine. */
async function askOnce(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  socket.write(statusRequest)
  await once(socket, 'data')
  socket.destroy()
}
