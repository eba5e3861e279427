import { versionText } from './clean-text.ts'
import { protocolError } from './protocol-error.ts'
import type { ParseOptions, StatusReply } from './status.ts'
import { componentSpans, textOf } from './text-component.ts'

const kick = 0xff
const headerSize = 3
const maxCharacters = 2000

/** The longest reply that is read, in bytes; the game itself stops at 256 characters. */
export const longestLegacyReply: number = headerSize + 2 * maxCharacters
const pluginChannel = 'MC|PingHost'
// The last protocol number that used this request.
const lastProtocol = 74

/**
 * The first two bytes of every legacy ping: all that servers before 1.6 need, and all that betas accept.
 *
 * @group Minecraft
 */
export const legacyPing: Uint8Array = Uint8Array.of(0xfe, 0x01)

/**
 * Encodes what 1.6 servers expect after {@link legacyPing}: the host and port as typed, in a plugin message.
 *
 * @throws `RangeError` if the port does not fit in 32 bits, or the host has more than 32,764 characters
 *
 * @group Minecraft
 */
export function encodeLegacyPingHost(host: string, port: number): Uint8Array {
  const channel = utf16(pluginChannel)
  const name = utf16(host)
  const head = Buffer.alloc(1 + 2)
  head[0] = 0xfa
  head.writeUInt16BE(pluginChannel.length, 1)
  const body = Buffer.alloc(2 + 1 + 2 + name.length + 4)
  body.writeUInt16BE(body.length - 2, 0)
  body[2] = lastProtocol
  body.writeUInt16BE(host.length, 3)
  body.set(name, 5)
  body.writeInt32BE(port, body.length - 4)
  return Buffer.concat([head, channel, body])
}

function utf16(text: string): Uint8Array {
  return Buffer.from(text, 'utf16le').swap16()
}

/**
 * Returns the size in bytes of the kick that begins here, or null as long as its first three bytes are incomplete.
 *
 * @throws `ServerCheckError` `protocol` if these bytes do not begin a kick, or begin one of more than 2,000 characters.
 *
 * @group Minecraft
 */
export function legacyReplySize(bytes: Uint8Array): number | null {
  const [first, high, low] = bytes
  if (first !== undefined && first !== kick) throw protocolError('something else than a kick')
  if (high === undefined || low === undefined) return null
  const size = headerSize + 2 * ((high << 8) | low)
  if (size > longestLegacyReply) throw protocolError('an endless kick')
  return size
}

/**
 * Reads the kick that answers a legacy ping, of any era.
 *
 * Servers from 1.4 on send their version; older ones send only description, players and capacity. The description of
 * the older ones may contain section signs, so such a kick is read from its end.
 *
 * @throws `ServerCheckError` `protocol` if it is a kick for another reason.
 *
 * @group Minecraft
 */
export function parseLegacyReply(bytes: Uint8Array, { raw = false }: ParseOptions = {}): StatusReply {
  const size = legacyReplySize(bytes)
  if (size === null || size > bytes.length) throw protocolError('half a kick')
  const text = new TextDecoder('utf-16be').decode(bytes.subarray(headerSize, size))
  const status = text.startsWith('§1\0') ? parseReply(text) : parseBetaReply(text)
  return raw ? { ...status, raw: text } : status
}

function parseReply(text: string): StatusReply {
  const [, protocol = '', name = '', description = '', online = '', max = ''] = text.split('\0')
  const version = { name: versionText(name), protocol: count(protocol) ?? -1 }
  return reply(version, description, { online: count(online) ?? 0, max: count(max) ?? 0 })
}

function parseBetaReply(text: string): StatusReply {
  const parts = text.split('§')
  const [online, max] = parts.slice(-2).map(count)
  if (parts.length < 3 || typeof online !== 'number' || typeof max !== 'number')
    throw protocolError('a kick that is no status')
  return reply({ name: '', protocol: -1 }, parts.slice(0, -2).join('§'), { online, max })
}

function count(text: string): number | null {
  return /^-?\d{1,10}$/.test(text) ? Number(text) + 0 : null
}

function reply(version: StatusReply['version'], text: string, players: StatusReply['players']): StatusReply {
  const descriptionSpans = componentSpans(text)
  return { players, version, description: textOf(descriptionSpans), descriptionSpans }
}
