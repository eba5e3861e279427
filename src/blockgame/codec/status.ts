import type { ServerStatus } from '../../domain/server-status.ts'
import type { Writable } from '../../domain/writable.ts'
import { idText, playerText, versionText } from './clean-text.ts'
import { parseGameJson } from './json-text.ts'
import { parseMods } from './mods.ts'
import { own } from './own-property.ts'
import { protocolError } from './protocol-error.ts'
import { componentSpans, textOf } from './text-component.ts'

/**
 * What a server says about itself: a {@link ServerStatus} without its address and latency.
 *
 * @group Minecraft
 */
export type StatusReply = Omit<ServerStatus, 'ip' | 'port' | 'latencyMs' | 'srvRecord'>

/**
 * What to read of a status.
 *
 * @group Minecraft
 */
export interface ParseOptions {
  /** Whether the reply also has the status as it was sent. Default: false. */
  readonly raw?: boolean
}

const flags = ['enforcesSecureChat', 'previewsChat', 'preventsChatReports'] as const
const maxRawDepth = 512
/** A MiB of nothing but values takes sixty times as long to parse as a MiB of text. */
const maxValues = 32_768
const maxSample = 100
const maxFaviconLength = 65_536
const [comma, bracket, brace] = [0x2c, 0x5b, 0x7b]
const pngDataUri = 'data:image/png;base64,'
const pngSignature = Buffer.from('89504e470d0a1a0a', 'hex')
// One buffer for all: nothing is kept in it, and a buffer per icon would be the largest garbage of a lookup.
const decoded = Buffer.allocUnsafe(maxFaviconLength)

/**
 * Reads the JSON of a status, tolerating what real servers get wrong.
 *
 * Counts that are not numbers become 0, and an unknown version becomes `''` and -1. Formatting codes stay only in the
 * version name. Control characters (except the description's line feeds) and bidirectional ones are removed from all
 * texts. Names have at most 256 code points, ids 64, the description 4,096, the sample 100 players, and the icon 65,536
 * characters.
 *
 * @throws `ServerCheckError` `protocol` if it is not a JSON object, or has neither players nor version nor description.
 *
 * @example
 * ```ts
 * parseStatus('{"players":{"online":3,"max":20}}').players // { online: 3, max: 20 }
 * ```
 *
 * @group Minecraft
 */
export function parseStatus(text: string, { raw = false }: ParseOptions = {}): StatusReply {
  const json = parseJson(text)
  const players = own(json, 'players')
  const version = own(json, 'version')
  const description = own(json, 'description')
  if ((players ?? version ?? description ?? null) === null) throw protocolError('JSON that is no status')
  const descriptionSpans = componentSpans(description)
  // Not by spreading objects that may be empty, which takes ten times as long.
  const reply: Writable<StatusReply> = {
    players: { online: integer(own(players, 'online'), 0), max: integer(own(players, 'max'), 0) },
    version: { name: versionText(own(version, 'name')), protocol: integer(own(version, 'protocol'), -1) },
    description: textOf(descriptionSpans),
    descriptionSpans,
  }
  const favicon = parseFavicon(own(json, 'favicon'))
  if (favicon !== undefined) reply.favicon = favicon
  const sample = parseSample(own(players, 'sample'))
  if (sample !== undefined) reply.sample = sample
  const mods = parseMods(json)
  if (mods !== undefined) reply.mods = mods
  for (const flag of flags) {
    const sent = own(json, flag)
    if (typeof sent === 'boolean') reply[flag] = sent
  }
  if (raw && isShallow(json)) reply.raw = json
  return reply
}

/** Tells whether whatever walks a value by recursion, such as `JSON.stringify`, has stack enough. */
function isShallow(json: unknown): boolean {
  let level: unknown[] = [json]
  for (let depth = 0; depth < maxRawDepth && level.length > 0; depth += 1) {
    level = level.flatMap((value) =>
      typeof value === 'object' && value !== null ? Object.values(value) : [],
    )
  }
  return level.length === 0
}

function parseJson(text: string): unknown {
  if (text.length > maxValues && valuesIn(text) > maxValues) throw protocolError('too many values')
  try {
    return parseGameJson(text)
  } catch {
    // The parser's message quotes the text: a server's escape sequences would reach those who read the log.
    throw protocolError('no JSON')
  }
}

/** Counts what can begin a value, inside texts too, because no honest text has thousands of commas. */
function valuesIn(text: string): number {
  let values = 0
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    if (code === comma || code === bracket || code === brace) values += 1
  }
  return values
}

// Adding zero turns -0 into 0. A number too large to count in ones, such as 1e300, is not a count.
function integer(value: unknown, otherwise: number): number {
  const whole = typeof value === 'number' ? Math.trunc(value) + 0 : Number.NaN
  return Number.isSafeInteger(whole) ? whole : otherwise
}

// Encoded again, so that only base64 gets through: 1.7 servers break it into lines, and hostile ones break out of HTML.
function parseFavicon(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > maxFaviconLength || !value.startsWith(pngDataUri))
    return undefined
  const size = decoded.write(value.slice(pngDataUri.length), 'base64')
  if (!decoded.subarray(0, Math.min(size, pngSignature.length)).equals(pngSignature)) return undefined
  const favicon = pngDataUri + decoded.toString('base64', 0, size)
  // The padding of base64 may have been missing.
  return favicon.length > maxFaviconLength ? undefined : favicon
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
