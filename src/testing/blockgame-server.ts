import { createServer, type AddressInfo, type Socket } from 'node:net'
import * as z from 'zod'
import { PacketReader } from '../blockgame/codec/packets.ts'
import { readVarInt } from '../blockgame/codec/varint.ts'
import {
  behaviorOf,
  type FakeBlockgameConnection,
  type FakeBlockgameServerOptions,
} from './blockgame-behavior.ts'
import { keepLast } from './keep-last.ts'
import { callback, milliseconds, portNumber, requireValid, wholeNumber } from './option-values.ts'

export type {
  BlockgameEra,
  FakeBlockgameConnection,
  FakeBlockgameServerOptions,
} from './blockgame-behavior.ts'
export { encodeKick, encodePacket, encodeStatusPacket } from './blockgame-packets.ts'

const schema = z
  .object({
    status: z.unknown(),
    pong: z.union([z.boolean(), z.literal('close')], "must be true, false or 'close'"),
    delayMs: milliseconds,
    pongDelayMs: milliseconds,
    chunkBytes: wholeNumber(1, 2 ** 31 - 1),
    era: z.enum(['modern', '1.6', '1.4', 'beta']),
    unknownPacket: z.enum(['close', 'wait', 'kick']),
    script: callback(),
    ip: z.string(),
    port: portNumber,
  } satisfies Record<keyof FakeBlockgameServerOptions, z.ZodType>)
  .partial()

/**
 * A running fake server.
 *
 * @group Testing
 */
export interface FakeBlockgameServer extends AsyncDisposable {
  /** The address it listens on. */
  readonly ip: string
  /** The port it listens on. */
  readonly port: number
  /** The last thousand connections, oldest first. */
  readonly connections: readonly FakeBlockgameConnection[]
  /** Ends every connection and stops listening. */
  close(): Promise<void>
}

/** How many octets of a connection are kept: many times what a client of the protocol sends. */
const maxReceived = 65_536

interface Connection extends FakeBlockgameConnection {
  received: Uint8Array
  handshake: FakeBlockgameConnection['handshake']
}

/**
 * Starts a Minecraft server on loopback that behaves as a test wants it to.
 *
 * @example
 * ```ts
 * const server = await fakeBlockgameServer({ status: { players: { online: 3, max: 20 } } })
 * const client = createBlockgameClient({ allowAddress: () => true })
 * await client.status({ host: server.ip, port: server.port })
 * await server.close()
 * ```
 *
 * @throws `UtilityApiError` `invalid_options` if an option is unknown or invalid
 *
 * @group Testing
 */
export async function fakeBlockgameServer(
  options: FakeBlockgameServerOptions = {},
): Promise<FakeBlockgameServer> {
  requireValid(schema, options)
  const behave = behaviorOf(options)
  const connections: Connection[] = []
  const sockets = new Set<Socket>()
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    const connection = record(socket)
    keepLast(connections, connection)
    behave(connection)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(options.port ?? 0, options.ip ?? '127.0.0.1', resolve)
  })
  const { address, port } = server.address() as AddressInfo
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve())
      for (const socket of sockets) socket.destroy()
    })
  return { ip: address, port, connections, close, [Symbol.asyncDispose]: close }
}

function record(socket: Socket): Connection {
  const connection: Connection = {
    socket,
    received: new Uint8Array(),
    handshake: null,
    get open() {
      return !socket.destroyed
    },
  }
  socket.on('error', () => {})
  socket.on('data', (chunk) => {
    const room = maxReceived - connection.received.length
    if (room === 0) return
    connection.received = Buffer.concat([connection.received, chunk.subarray(0, room)])
    connection.handshake ??= parseHandshake(connection.received)
  })
  return connection
}

function parseHandshake(bytes: Uint8Array): FakeBlockgameConnection['handshake'] {
  const [packet] = new PacketReader().add(bytes)
  if (packet === undefined) return null
  const { payload } = packet
  const version = readVarInt(payload, 0)
  const size = version && readVarInt(payload, version.end)
  const end = size ? size.end + size.value : payload.length
  if (!size || end + 2 > payload.length) return null
  const host = Buffer.from(payload.subarray(size.end, end)).toString()
  return { protocolVersion: version.value, host, port: Buffer.from(payload).readUInt16BE(end) }
}
