import type { Socket } from 'node:net'
import { PacketReader, type Packet } from '../blockgame/codec/packets.ts'
import { clearTimeout, setImmediate, setTimeout } from '../ports/timers.ts'
import { encodeKick, encodePacket, encodeStatusPacket } from './blockgame-packets.ts'

/**
 * The version of a fake server: `modern` is 1.7 or later and speaks today's protocol; the others answer only the legacy
 * pings of their time.
 *
 * @group Testing
 */
export type BlockgameEra = 'modern' | '1.6' | '1.4' | 'beta'

/**
 * How a fake Minecraft server behaves.
 *
 * @group Testing
 */
export interface FakeBlockgameServerOptions {
  /** What the server says about itself: a JSON value, or text to send instead. Default: a plausible status. */
  readonly status?: unknown
  /** Whether a ping is answered; `'close'` closes the connection instead. Default: true. */
  readonly pong?: boolean | 'close'
  /** Milliseconds before the status is sent. Default: 0. */
  readonly delayMs?: number
  /** Milliseconds before the pong is sent. Default: 0. */
  readonly pongDelayMs?: number
  /** Bytes per write, one write per turn of the event loop. Default: everything in one write. */
  readonly chunkBytes?: number
  /** The version of the server. Default: `'modern'`, which also answers legacy pings. */
  readonly era?: BlockgameEra
  /** What a server before 1.7 does with a packet it does not know. Default: `'close'`. */
  readonly unknownPacket?: 'close' | 'wait' | 'kick'
  /** Takes over every connection, and the server itself answers nothing. For hostile and broken servers. */
  readonly script?: (connection: FakeBlockgameConnection) => void
  /** Address to listen on. Default: `127.0.0.1`. */
  readonly ip?: string
  /** Port to listen on. Default: a free one. */
  readonly port?: number
}

/**
 * One connection to a fake server, and what was received over it.
 *
 * @group Testing
 */
export interface FakeBlockgameConnection {
  /** The server's end, for a script to write to. */
  readonly socket: Socket
  /** What has been received so far, at most the first 65,536 bytes. */
  readonly received: Uint8Array
  /** The handshake, once it has been received. */
  readonly handshake: {
    readonly protocolVersion: number
    readonly host: string
    readonly port: number
  } | null
  /** Whether the connection is still open. */
  readonly open: boolean
}

const plausibleStatus = {
  version: { name: '1.21.4', protocol: 769 },
  players: { online: 3, max: 20 },
  description: 'A fake server',
}

/** What a fake server does with a connection. */
export type Behavior = (connection: FakeBlockgameConnection) => void

/** Returns the behavior that these options describe. */
export function behaviorOf(options: FakeBlockgameServerOptions): Behavior {
  const { script, era = 'modern' } = options
  return script ?? (era === 'modern' ? answerAsModern(options) : answerAsOld(options))
}

function answerAsModern(options: FakeBlockgameServerOptions): Behavior {
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
      if (!handshaken && chunk[0] === 0xfe) {
        return later(options.delayMs, () => finish(socket, encodeLegacyReply(options)))
      }
      for (const packet of reader.add(chunk)) answer(packet)
      if (reader.failure) socket.destroy()
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
  // The socket keeps the process alive as long as there is somebody to answer.
  else setTimeout(work, delayMs).unref()
}

function finish(socket: Socket, bytes: Uint8Array): void {
  if (!socket.destroyed) socket.end(bytes)
}

function send(socket: Socket, bytes: Uint8Array, chunkBytes = bytes.length): void {
  if (socket.destroyed) return
  socket.write(bytes.subarray(0, chunkBytes))
  if (bytes.length > chunkBytes) setImmediate(() => send(socket, bytes.subarray(chunkBytes), chunkBytes))
}

// How long a 1.6 server waits for the rest of a legacy ping before it answers what it has.
const restTimeoutMs = 1500

/** Servers before 1.7: the first byte is the packet's id. */
function answerAsOld(options: FakeBlockgameServerOptions): Behavior {
  const { era, unknownPacket = 'close' } = options
  const reply = encodeLegacyReply(options)
  return (connection) => {
    const { socket } = connection
    let timer: NodeJS.Timeout | undefined
    const answer = (): void => later(options.delayMs, () => finish(socket, reply))
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
        else answer()
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

function encodeLegacyReply({
  status = plausibleStatus,
  era = 'modern',
}: FakeBlockgameServerOptions): Uint8Array {
  if (typeof status === 'string') return encodeKick(status)
  const told = status as Partial<typeof plausibleStatus> | null
  const version = told?.version ?? plausibleStatus.version
  const players = told?.players ?? plausibleStatus.players
  const description = told?.description ?? plausibleStatus.description
  if (era === 'beta') return encodeKick([description, players.online, players.max].join('§'))
  // Servers from 1.7 on send 127 here, regardless of their protocol.
  const protocol = era === 'modern' ? 127 : version.protocol
  return encodeKick(['§1', protocol, version.name, description, players.online, players.max].join('\0'))
}
