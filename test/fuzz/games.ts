import assert from 'node:assert/strict'
import { ServerCheckError } from 'utility-api/blockgame'
import { legacyReplySize, parseLegacyReply } from '../../src/blockgame/codec/legacy.ts'
import { PacketReader, readStatusText, type Packet } from '../../src/blockgame/codec/packets.ts'
import { parseStatus, type StatusReply } from '../../src/blockgame/codec/status.ts'
import { controlOrBidi } from '../../src/domain/header-text.ts'
import { encodeKick, encodePacket, encodeStatusPacket } from '../../src/testing/blockgame-packets.ts'
import { cut } from './mutate.ts'
import { texts, type FuzzTarget } from './target.ts'

const status = {
  version: { name: 'Paper §a1.21.4', protocol: 769 },
  players: { online: 3, max: 20, sample: [{ name: 'someone', id: '0-0' }] },
  description: {
    text: 'A',
    color: '#ff8800',
    bold: true,
    extra: [{ text: '§lserver' }, 'with\nlines', { translate: '%s', with: ['y'] }],
  },
  favicon: `data:image/png;base64,${Buffer.from('89504e470d0a1a0a00', 'hex').toString('base64')}`,
}
/** A packed list of one mod with one channel. */
const packed = String.fromCharCode(15, 0, 256, 12_290, 26_018, 2446, 256, 13_318, 25_997, 0)
const modded = {
  forgeData: { mods: [{ modId: 'jei', modmarker: '7.6' }], d: packed },
  modinfo: { modList: [{ modid: 'jei', version: '4.15' }] },
}
const statuses = [
  status,
  { ...status, description: 'plain' },
  { ...modded, players: {} },
  {
    forgeData: { d: packed },
    players: {},
    description: { fallback: '%2$s', with: ['x', { keybind: 'k' }] },
  },
  { players: null, version: [] },
  [1e300, -0],
]
const statusTexts = texts(
  ...statuses.map((each) => JSON.stringify(each)),
  '{"description":{"extra":[[[["x"]]]]}}',
)

function unlessServerFailed<Value>(parse: () => Value): Value | undefined {
  try {
    return parse()
  } catch (error) {
    if (!(error instanceof ServerCheckError) || error.reason !== 'protocol') throw error
    return undefined
  }
}

function assertText(text: string, codePoints: number): void {
  assert([...text].length <= codePoints, `${text.length} characters`)
  assert(!controlOrBidi.test(text.replaceAll('\n', '')), 'control characters')
}

function checkStatus(reply: StatusReply | undefined): void {
  if (reply === undefined) return
  const { players, version, description, descriptionSpans = [], sample = [], favicon = '', mods = [] } = reply
  for (const count of [players.online, players.max, version.protocol]) assert(Number.isSafeInteger(count))
  assertText(version.name, 256)
  assertText(description, 4096)
  assert(descriptionSpans.length <= 1000 && mods.length <= 1000)
  assert.equal(descriptionSpans.map(({ text }) => text).join(''), description)
  for (const { color } of descriptionSpans) assert.match(color ?? 'gold', /^(?:#[0-9a-f]{6}|[a-z_]+)$/)
  assert(sample.length <= 100 && favicon.length <= 65_536)
  for (const { name, id } of sample) {
    assertText(name, 256)
    assertText(id, 64)
  }
}

/** Compares a status with what the parser of the runtime reads, which takes less. */
function checkAsJson(text: string, reply: StatusReply | undefined): void {
  let json: StatusReply | null
  try {
    json = JSON.parse(text) as StatusReply | null
  } catch {
    return
  }
  const says = json?.players ?? json?.version ?? json?.description ?? null
  assert.equal(reply !== undefined, says !== null && !Array.isArray(json) && typeof json === 'object')
  if (reply === undefined) return
  if ('raw' in reply) assert.deepEqual(reply.raw, json)
  for (const name of ['online', 'max'] as const) {
    const count: unknown = json?.players?.[name]
    if (Number.isSafeInteger(count)) assert.equal(reply.players[name], Number(count) + 0)
  }
  assert.equal(reply.version.protocol, integerOf(json?.version?.protocol))
}

function integerOf(value: unknown): number {
  const whole = typeof value === 'number' ? Math.trunc(value) + 0 : -1
  return Number.isSafeInteger(whole) ? whole : -1
}

function readAll(chunks: readonly Buffer[]): { packets: Packet[]; failed: boolean; kicked: boolean } {
  const reader = new PacketReader()
  const packets = chunks
    .flatMap((chunk) => reader.add(chunk))
    .map(({ id, payload }) => ({ id, payload: Buffer.from(payload) }))
  return { packets, failed: reader.failure !== null, kicked: reader.kicked }
}

export const gameTargets: readonly FuzzTarget[] = [
  {
    name: 'the status of a game server',
    corpus: statusTexts,
    check(input) {
      const text = input.toString()
      const reply = unlessServerFailed(() => parseStatus(text, { raw: true }))
      checkStatus(reply)
      checkAsJson(text, reply)
    },
  },
  {
    name: 'packets of a game server',
    // One of them is longer than what room is made for at first.
    corpus: [...statuses, { ...status, favicon: status.favicon.padEnd(5000, 'A') }].map((each) =>
      Buffer.concat([encodeStatusPacket(each), encodePacket(1, Buffer.alloc(8, 7))]),
    ),
    check(input, random) {
      const whole = readAll([input])
      assert.deepEqual(readAll(cut(input, random)), whole, 'a stream means the same however it is cut')
      assert(whole.packets.length <= 16)
      for (const packet of whole.packets)
        checkStatus(unlessServerFailed(() => parseStatus(readStatusText(packet))))
    },
  },
  {
    name: 'the kick of an old game server',
    corpus: [
      Buffer.from(encodeKick(['§1', 127, '1.5.2', 'A server', 3, 20].join('\0'))),
      Buffer.from(encodeKick('A §aserver§3§20')),
      Buffer.from(encodeKick('§§')),
    ],
    check(input) {
      const size = unlessServerFailed(() => legacyReplySize(input))
      assert(size === undefined || size === null || (size >= 3 && size <= 4003))
      const reply = unlessServerFailed(() => parseLegacyReply(input))
      assert(reply === undefined || input.length >= Number(size), 'half a kick')
      checkStatus(reply)
    },
  },
]
