import { createServer, type AddressInfo, type Socket } from 'node:net'
import { PacketReader, type Packet } from '../blockgame/packets.ts'
import { readVarInt, varIntSize, writeVarInt } from '../blockgame/varint.ts'

/**
 * How old a fake server is: `1.7` and later speak today's protocol, the others only the legacy pings of their time.
 *
 * @group Testing
 */
export type BlockgameEra = 'modern' | '1.6' | '1.4' | 'beta'

/**
 * How a fake block-game server behaves.
 *
 * @group Testing
 */
export interface FakeBlockgameServerOptions {
  /** What it says of itself: a JSON value, or the text to send in its place. Default: a plausible status. */
  readonly status?: unknown
  /** Whether a ping is answered; `'close'` hangs up at it. Default: true. */
  readonly pong?: boolean | 'close'
  /** Milliseconds before the status is sent. Default: 0. */
  readonly delayMs?: number
  /** Milliseconds before the pong is sent. Default: 0. */
  readonly pongDelayMs?: number
  /** Bytes per write, each a turn of the event loop apart. Default: everything in one write. */
  readonly chunkBytes?: number
  /** How old it is. Default: `'modern'`, which answers legacy pings too. */
  readonly era?: BlockgameEra
  /** What a server before 1.7 does with a packet it does not know. Default: `'close'`. */
  readonly unknownPacket?: 'close' | 'wait' | 'kick'
  /** Takes over every connection: nothing is answered but by it. For hostile and broken servers. */
  readonly script?: (connection: FakeBlockgameConnection) => void
  /** Address to listen on. Default: `127.0.0.1`. */
  readonly ip?: string
  /** Port to listen on. Default: a free one. */
  readonly port?: number
}

/**
 * One connection to a fake server, and what came over it.
 *
 * @group Testing
 */
export interface FakeBlockgameConnection {
  /** The server's end, for a script to write to. */
  readonly socket: Socket
  /** Every byte received so far. */
  readonly received: Uint8Array
  /** The handshake, once it came. */
  readonly handshake: {
    readonly protocolVersion: number
    readonly host: string
    readonly port: number
  } | null
  /** Whether the connection is still open. */
  readonly open: boolean
}

/**
 * A running fake server.
 *
 * @group Testing
 */
export interface FakeBlockgameServer {
  /** The address it listens on. */
  readonly ip: string
  /** The port it listens on. */
  readonly port: number
  /** Every connection so far, the oldest first. */
  readonly connections: readonly FakeBlockgameConnection[]
  /** Ends every connection and stops listening. */
  close(): Promise<void>
}

const plausibleStatus = {
  version: { name: '1.21.4', protocol: 769 },
  players: { online: 3, max: 20 },
  description: 'A fake server',
}

interface Connection extends FakeBlockgameConnection {
  received: Uint8Array
  handshake: FakeBlockgameConnection['handshake']
}

/**
 * Starts a block-game server on loopback that says what a test wants it to say.
 *
 * @example
 * ```ts
 * const server = await fakeBlockgameServer({ status: { players: { online: 3, max: 20 } } })
 * const client = createBlockgameClient({ allowAddress: () => true })
 * await client.status({ host: server.ip, port: server.port })
 * await server.close()
 * ```
 *
 * @group Testing
 */
export async function fakeBlockgameServer(
  options: FakeBlockgameServerOptions = {},
): Promise<FakeBlockgameServer> {
  const connections: Connection[] = []
  const server = createServer({ noDelay: true }, (socket) => {
    const connection = record(socket)
    connections.push(connection)
    const behave = options.script ?? (isOld(options) ? answerAsOld(options) : answerAsModern(options))
    behave(connection)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(options.port ?? 0, options.ip ?? '127.0.0.1', resolve)
  })
  const { address, port } = server.address() as AddressInfo
  return {
    ip: address,
    port,
    connections,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const { socket } of connections) socket.destroy()
      }),
  }
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
    connection.received = Buffer.concat([connection.received, chunk])
    connection.handshake ??= parseHandshake(connection.received)
  })
  return connection
}

function parseHandshake(bytes: Uint8Array): FakeBlockgameConnection['handshake'] {
  const reader = new PacketReader()
  try {
    reader.push(bytes)
    const payload = reader.next()?.payload
    const version = payload && readVarInt(payload, 0)
    const size = version && readVarInt(payload, version.end)
    if (!size) return null
    const end = size.end + size.value
    const host = Buffer.from(payload.subarray(size.end, end)).toString()
    return { protocolVersion: version.value, host, port: Buffer.from(payload).readUInt16BE(end) }
  } catch {
    return null
  }
}

type Behaviour = (connection: Connection) => void

function answerAsModern(options: FakeBlockgameServerOptions): Behaviour {
  const status = encodeStatusPacket(options.status ?? plausibleStatus)
  return ({ socket }) => {
    const reader = new PacketReader()
    let handshaken = false
    const answer = ({ id, payload }: Packet): void => {
      if (!handshaken) handshaken = true
      else if (id === 0) later(options.delayMs, () => send(socket, status, options.chunkBytes))
      else if (id === 1) answerPing(socket, payload, options)
    }
    socket.on('data', (chunk) => {
      if (!handshaken && chunk[0] === 0xfe) return void socket.end(encodeLegacyReply(options))
      try {
        reader.push(chunk)
        for (let packet = reader.next(); packet; packet = reader.next()) answer(packet)
      } catch {
        socket.destroy()
      }
    })
  }
}

function answerPing(
  socket: Socket,
  payload: Uint8Array,
  { pong = true, pongDelayMs, chunkBytes }: FakeBlockgameServerOptions,
): void {
  if (pong === 'close') socket.destroy()
  else if (pong) later(pongDelayMs, () => send(socket, encodePacket(1, payload), chunkBytes))
}

function later(delayMs: number | undefined, work: () => void): void {
  if (delayMs === undefined || delayMs === 0) work()
  else setTimeout(work, delayMs)
}

function send(socket: Socket, bytes: Uint8Array, chunkBytes = bytes.length): void {
  if (socket.destroyed) return
  socket.write(bytes.subarray(0, chunkBytes))
  if (bytes.length > chunkBytes) setImmediate(() => send(socket, bytes.subarray(chunkBytes), chunkBytes))
}

function isOld({ era = 'modern' }: FakeBlockgameServerOptions): boolean {
  return era !== 'modern'
}

// How long a 1.6 server waits for the rest of a legacy ping before it answers what it has.
const restTimeoutMs = 1500

/** Servers before 1.7: the first byte is the packet's id. */
function answerAsOld(options: FakeBlockgameServerOptions): Behaviour {
  const { era, unknownPacket = 'close' } = options
  const reply = encodeLegacyReply(options)
  return (connection) => {
    const { socket } = connection
    let timer: NodeJS.Timeout | undefined
    const answer = (): void => void (socket.destroyed || socket.end(reply))
    socket.once('close', () => clearTimeout(timer))
    socket.on('data', () => {
      clearTimeout(timer)
      const { received } = connection
      if (received[0] !== 0xfe) {
        if (unknownPacket === 'kick') socket.end(encodeKick('Protocol error'))
        else if (unknownPacket === 'close') socket.destroy()
      } else if (era === 'beta') {
        // What follows FE 01 is read as a login packet with an absurdly long name.
        if (received.length > 2) socket.destroy()
        else later(options.delayMs, answer)
      } else if (era === '1.4' && received.length >= 2) answer()
      else if (era === '1.6' && isWholeLegacyPing(received)) answer()
      else timer = setTimeout(answer, restTimeoutMs)
    })
  }
}

function isWholeLegacyPing(bytes: Uint8Array): boolean {
  const channelEnd = 5 + 2 * ((bytes[3] ?? 0) * 256 + (bytes[4] ?? 0))
  const size = (bytes[channelEnd] ?? 0) * 256 + (bytes[channelEnd + 1] ?? 0)
  return bytes.length > channelEnd + 1 && bytes.length >= channelEnd + 2 + size
}

/**
 * Encodes a packet with its length, for scripts.
 *
 * @group Testing
 */
export function encodePacket(id: number, payload: Uint8Array): Uint8Array {
  const length = varIntSize(id) + payload.length
  const bytes = Buffer.alloc(varIntSize(length) + length)
  bytes.set(payload, writeVarInt(bytes, writeVarInt(bytes, 0, length), id))
  return bytes
}

/**
 * Encodes a status packet, for scripts: a JSON value, or the text to send in its place.
 *
 * @group Testing
 */
export function encodeStatusPacket(status: unknown): Uint8Array {
  const text = Buffer.from(typeof status === 'string' ? status : JSON.stringify(status))
  const payload = Buffer.alloc(varIntSize(text.length) + text.length)
  payload.set(text, writeVarInt(payload, 0, text.length))
  return encodePacket(0, payload)
}

/**
 * Encodes a kick, the answer to a legacy ping, for scripts.
 *
 * @group Testing
 */
export function encodeKick(text: string): Uint8Array {
  const head = Buffer.alloc(3)
  head[0] = 0xff
  head.writeUInt16BE(text.length, 1)
  return Buffer.concat([head, Buffer.from(text, 'utf16le').swap16()])
}

function encodeLegacyReply({
  status = plausibleStatus,
  era = 'modern',
}: FakeBlockgameServerOptions): Uint8Array {
  if (typeof status === 'string') return encodeKick(status)
  const { version, players, description } = { ...plausibleStatus, ...(status as typeof plausibleStatus) }
  if (era === 'beta') return encodeKick([description, players.online, players.max].join('§'))
  // Servers from 1.7 on say 127 here whatever they speak.
  const protocol = era === 'modern' ? 127 : version.protocol
  return encodeKick(['§1', protocol, version.name, description, players.online, players.max].join('\0'))
}
