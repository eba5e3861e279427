import type { ServerStatus } from '../../domain/server-status.ts'
import { idText, playerText, versionText } from './clean-text.ts'
import { own } from './own-property.ts'
import { protocolError } from './protocol-error.ts'
import { componentText } from './text-component.ts'

/**
 * What a server says of itself: a {@link ServerStatus} without where it is and how far.
 *
 * @group Block game
 */
export type StatusReply = Omit<ServerStatus, 'ip' | 'port' | 'latencyMs' | 'srvRecord'>

const maxSample = 100
const maxFaviconLength = 65_536
const pngDataUri = 'data:image/png;base64,'
const pngSignature = Buffer.from('89504e470d0a1a0a', 'hex')
// One for all: nothing is kept in it, and a buffer per icon would be the largest garbage of a lookup.
const decoded = Buffer.allocUnsafe(maxFaviconLength)

/**
 * Reads the JSON of a status, tolerant where real servers are odd.
 *
 * Counts that are no numbers become 0, an unknown version `''` and -1; formatting codes stay in the version name only. No
 * text keeps control characters (the description its line feeds) or bidirectional ones. Names have at most 256 code
 * points, ids 64, the description 4,096, the sample 100 players, and the icon 65,536 characters.
 *
 * @throws `ServerCheckError` `protocol` when it is no JSON object, or has neither players nor version nor description.
 *
 * @example
 * ```ts
 * parseStatus('{"players":{"online":3,"max":20}}').players // { online: 3, max: 20 }
 * ```
 *
 * @group Block game
 */
export function parseStatus(text: string): StatusReply {
  const json = parseJson(text)
  const players = own(json, 'players')
  const version = own(json, 'version')
  const description = own(json, 'description')
  if ((players ?? version ?? description ?? null) === null) throw protocolError('JSON that is no status')
  const favicon = parseFavicon(own(json, 'favicon'))
  const sample = parseSample(own(players, 'sample'))
  return {
    players: { online: integer(own(players, 'online'), 0), max: integer(own(players, 'max'), 0) },
    version: { name: versionText(own(version, 'name')), protocol: integer(own(version, 'protocol'), -1) },
    description: componentText(description),
    ...(favicon === undefined ? {} : { favicon }),
    ...(sample === undefined ? {} : { sample }),
  }
}

function parseJson(text: string): unknown {
  try {
    // The game's own parser skips a byte order mark too.
    return JSON.parse(text.startsWith('\ufeff') ? text.slice(1) : text)
  } catch {
    // The parser's message quotes the text: a server's escape sequences would reach whoever reads the log.
    throw protocolError('no JSON')
  }
}

// Adding zero turns -0 into 0. What no longer counts in ones, such as 1e300, is no count.
function integer(value: unknown, otherwise: number): number {
  const whole = typeof value === 'number' ? Math.trunc(value) + 0 : Number.NaN
  return Number.isSafeInteger(whole) ? whole : otherwise
}

// Encoded anew, so that nothing but base64 gets through: servers of 1.7 break it into lines, hostile ones out of HTML.
function parseFavicon(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > maxFaviconLength || !value.startsWith(pngDataUri))
    return undefined
  const size = decoded.write(value.slice(pngDataUri.length), 'base64')
  if (!decoded.subarray(0, Math.min(size, pngSignature.length)).equals(pngSignature)) return undefined
  return pngDataUri + decoded.toString('base64', 0, size)
}

function parseSample(value: unknown): StatusReply['sample'] {
  if (!Array.isArray(value)) return undefined
  const sample: { name: string; id: string }[] = []
  for (const player of value.slice(0, maxSample) as unknown[]) {
    const name = own(player, 'name')
    if (typeof name === 'string') sample.push({ name: playerText(name), id: idText(own(player, 'id')) })
  }
  return sample.length > 0 ? sample : undefined
}
