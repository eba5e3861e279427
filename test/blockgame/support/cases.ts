import type { ServerCheckFailure, ServerStatus } from '../../../src/domain/server-status.ts'
import {
  encodeKick,
  encodePacket,
  encodeStatusPacket,
  type FakeBlockgameConnection,
  type FakeBlockgameServerOptions,
} from '../../../src/testing/blockgame-server.ts'

/** A server, and what a lookup must make of it: these fields, or this failure. */
export interface Case {
  readonly name: string
  readonly server: FakeBlockgameServerOptions
  readonly expected: DeepPartial<ServerStatus> | ServerCheckFailure
  readonly timeoutMs?: number
}

type DeepPartial<Value> = { readonly [Key in keyof Value]?: DeepPartial<Value[Key]> }
type Row = readonly [name: string, server: unknown, expected: Case['expected']]

const plain = { players: { online: 1, max: 2 }, version: { name: 'x', protocol: 5 }, description: 'd' }
const plainCounts = { players: { online: 1, max: 2 } }
const icon = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAEA='

const statuses: readonly Row[] = [
  ['everything', { ...plain, favicon: icon }, { ...plain, favicon: icon }],
  ['players only', plainCounts, { ...plainCounts, version: { name: '', protocol: -1 }, description: '' }],
  ['version only', { version: { name: 'v', protocol: 47 } }, { players: { online: 0, max: 0 } }],
  ['description only', { description: 'x' }, { version: { name: '', protocol: -1 }, description: 'x' }],
  ['null players', { ...plain, players: null }, { players: { online: 0, max: 0 } }],
  ['null version', { ...plain, version: null }, { version: { name: '', protocol: -1 } }],
  ['null description', { ...plain, description: null }, { description: '' }],
  ['empty players', { ...plain, players: {} }, { players: { online: 0, max: 0 } }],
  ['players as a list', { ...plain, players: [1, 2] }, { players: { online: 0, max: 0 } }],
  ['counts as strings', { ...plain, players: { online: '3', max: '9' } }, { players: { online: 0, max: 0 } }],
  [
    'counts with fractions',
    { ...plain, players: { online: 3.7, max: -0.5 } },
    { players: { online: 3, max: 0 } },
  ],
  ['negative counts', { ...plain, players: { online: -1, max: -1 } }, { players: { online: -1, max: -1 } }],
  [
    'more players than places',
    { ...plain, players: { online: 9, max: 2 } },
    { players: { online: 9, max: 2 } },
  ],
  ['an infinite count', '{"players":{"online":1e999,"max":2}}', { players: { online: 0, max: 2 } }],
  [
    'an absurd count',
    '{"players":{"online":1e300,"max":9007199254740993}}',
    { players: { online: 0, max: 0 } },
  ],
  ['a count as null', { ...plain, players: { online: null, max: 2 } }, { players: { online: 0, max: 2 } }],
  [
    'version name as a number',
    { ...plain, version: { name: 5, protocol: 1 } },
    { version: { name: '', protocol: 1 } },
  ],
  [
    'protocol as a string',
    { ...plain, version: { name: 'n', protocol: '47' } },
    { version: { name: 'n', protocol: -1 } },
  ],
  [
    'colors in the version name',
    { ...plain, version: { name: '§4old', protocol: 0 } },
    { version: { name: '§4old' } },
  ],
  ['colors in the description', { ...plain, description: '§a§lHi§r there§' }, { description: 'Hi there' }],
  [
    'a component',
    { ...plain, description: { text: 'a', extra: ['b', { text: 'c' }] } },
    { description: 'abc' },
  ],
  ['a list of components', { ...plain, description: [{ text: 'a' }, 'b', ['c']] }, { description: 'abc' }],
  [
    'a translated component',
    { ...plain, description: { translate: 'motd.key' } },
    { description: 'motd.key' },
  ],
  ['a number as description', { ...plain, description: 12 }, { description: '12' }],
  ['two lines', { ...plain, description: 'a\nb\u0007' }, { description: 'a\nb' }],
  ['a favicon in lines', { ...plain, favicon: icon.replace('AAAA', 'AA\nAA') }, { favicon: icon }],
  ['a byte order mark', `\ufeff${JSON.stringify(plain)}`, plain],
  ['white space around', ` \n${JSON.stringify(plain)}\t `, plain],
  [
    'repeated keys',
    '{"players":{"online":1,"max":2},"players":{"online":5,"max":6}}',
    { players: { online: 5, max: 6 } },
  ],
  ['other letters', { ...plain, description: 'Привет 世界 🎮' }, { description: 'Привет 世界 🎮' }],
  ['more than 32,767 characters', { ...plain, forgeData: { d: 'x'.repeat(200_000) } }, plain],
  ['a prototype', '{"__proto__":{"players":{"online":7}},"description":"x"}', { players: { online: 0 } }],
  [
    'a sample',
    {
      ...plain,
      players: { online: 1, max: 2, sample: [{ name: '§bAda', id: 'i' }, { id: 'no name' }, null, 3] },
    },
    { sample: [{ name: 'Ada', id: 'i' }] },
  ],
  ['a sample that is none', { ...plain, players: { online: 1, max: 2, sample: 'x' } }, plainCounts],
  ['an empty object', {}, 'protocol'],
  ['another object', { error: 'no' }, 'protocol'],
  ['null', 'null', 'protocol'],
  ['a number', '5', 'protocol'],
  ['a string', '"players"', 'protocol'],
  ['a list', [plain], 'protocol'],
  ['no text', '', 'protocol'],
  ['no JSON', 'not json', 'protocol'],
  ['half of the JSON', JSON.stringify(plain).slice(0, -3), 'protocol'],
  ['JSON and more', `${JSON.stringify(plain)}x`, 'protocol'],
]

/** Answers the status request with these bytes, each chunk a write of its own, and stays open. */
function says(...chunks: readonly Uint8Array[]): FakeBlockgameServerOptions {
  return { script: ({ socket }) => socket.once('data', () => writeApart(socket, chunks)) }
}

function writeApart(
  socket: FakeBlockgameConnection['socket'],
  [chunk, ...rest]: readonly Uint8Array[],
): void {
  if (chunk === undefined || socket.destroyed) return
  socket.write(chunk)
  setTimeout(() => writeApart(socket, rest), 2)
}

function saysAndCloses(...chunks: readonly Uint8Array[]): FakeBlockgameServerOptions {
  return { script: ({ socket }) => socket.once('data', () => socket.end(Buffer.concat(chunks))) }
}

const status = encodeStatusPacket(plain)
const endlessKick = Buffer.alloc(90_000, 0x41).fill(0xff, 0, 1).fill(0, 1, 2)
const bytes = (...octets: readonly number[]): Uint8Array => Uint8Array.from(octets)
const statusOfSize = (size: number): string => JSON.stringify(plain).padEnd(size)
const frameOf255 = encodeStatusPacket(statusOfSize(255 - 3))
const frameOf16383 = encodeStatusPacket(statusOfSize(16_383 - 3))
const withTail = encodePacket(0, Buffer.concat([status.subarray(2), Buffer.from('and a mod')]))

const streams: readonly (readonly [string, FakeBlockgameServerOptions, Case['expected']])[] = [
  ['one byte at a time', { status: plain, chunkBytes: 1 }, plain],
  ['seven bytes at a time', { status: plain, chunkBytes: 7 }, plain],
  ['a large status in small pieces', { status: { ...plain, x: 'y'.repeat(20_000) }, chunkBytes: 97 }, plain],
  ['a packet that begins with FF and is none of a kick', says(frameOf255), plain],
  ['the same, its first byte alone', says(frameOf255.subarray(0, 1), frameOf255.subarray(1)), plain],
  ['a packet that begins with FF 7F', says(frameOf16383), plain],
  [
    'status and pong in one write',
    says(Buffer.concat([status, encodePacket(1, bytes(0, 0, 0, 0, 0, 0, 0, 0))])),
    plain,
  ],
  ['text behind the JSON, inside the packet', says(withTail), plain],
  ['bytes behind the packet', says(Buffer.concat([status, bytes(0xff, 0xff, 0xff, 0xff)])), plain],
  ['a packet of another kind first', says(encodePacket(7, bytes(1, 2, 3)), status), plain],
  ['a pong first', says(encodePacket(1, bytes(0, 0, 0, 0, 0, 0, 0, 0)), status), plain],
  ['a length longer than necessary', says(bytes(0x80 | status[0]!, 0x00), status.subarray(1)), plain],
  ['no pong', { status: plain, pong: false }, plain],
  ['a close at the ping', { status: plain, pong: 'close' }, plain],
  ['a close after the status', saysAndCloses(status), plain],
  ['a pong after the deadline', { status: plain, pongDelayMs: 5000 }, plain],
  ['a pong with another payload', pongs(encodePacket(1, bytes(9, 9, 9, 9, 9, 9, 9, 9))), plain],
  ['a pong without payload', pongs(encodePacket(1, bytes())), plain],
  ['half a pong', pongs(bytes(9, 1, 0, 0)), plain],
  ['garbage for a pong', pongs(bytes(0xff, 0xff, 0xff, 0xff, 0xff)), plain],
  ['a second status for a pong', pongs(status), plain],
  ['a packet of no bytes', says(bytes(0x00)), 'protocol'],
  ['a length that never ends', says(bytes(0x80, 0x80, 0x80, 0x80)), 'protocol'],
  ['a negative length', says(bytes(0xff, 0xff, 0xff, 0xff, 0x0f)), 'protocol'],
  ['a length over the limit', says(bytes(0xff, 0xff, 0x7f)), 'protocol'],
  ['a text longer than its packet', says(encodePacket(0, bytes(0x7f, 0x7b))), 'protocol'],
  ['a text of negative length', says(encodePacket(0, bytes(0xff, 0xff, 0xff, 0xff, 0x0f))), 'protocol'],
  ['a packet id that never ends', says(bytes(0x02, 0x80, 0x80)), 'protocol'],
  [
    'endless other packets',
    says(Buffer.concat(Array.from({ length: 40 }, () => bytes(0x01, 0x05)))),
    'protocol',
  ],
  ['HTTP', saysAndCloses(Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')), 'closed'],
  ['SSH', saysAndCloses(Buffer.from('SSH-2.0-OpenSSH_9.6\r\n')), 'closed'],
  [
    'a greeting before any request',
    { script: ({ socket }) => void socket.write('220 smtp ready\r\n') },
    'timeout',
  ],
  ['half a packet and a close', saysAndCloses(status.subarray(0, 20)), 'closed'],
  ['half a packet and silence', says(status.subarray(0, 20)), 'timeout'],
  ['a close at once', { script: ({ socket }) => void socket.destroy() }, 'closed'],
  [
    'a close at the request',
    { script: ({ socket }) => void socket.once('data', () => socket.destroy()) },
    'closed',
  ],
  [
    'a reset at the request',
    { script: ({ socket }) => void socket.once('data', () => socket.resetAndDestroy()) },
    'closed',
  ],
  ['silence', { script() {} }, 'timeout'],
  [
    'an end without a word',
    { script: ({ socket }) => void socket.once('data', () => socket.end()) },
    'closed',
  ],
  ['one byte every 20 ms for ever', { script: trickle }, 'timeout'],
  ['a flood', { script: flood }, 'protocol'],
  [
    'a kick to everything',
    { script: ({ socket }) => void socket.once('data', () => socket.end(encodeKick('§cBanned§r by§ghost'))) },
    'protocol',
  ],
  [
    'an endless kick to everything',
    { script: ({ socket }) => void socket.once('data', () => socket.write(endlessKick)) },
    'protocol',
  ],
  [
    'half a kick to everything',
    { script: ({ socket }) => void socket.once('data', () => socket.end(bytes(0xff, 0, 9, 0))) },
    'protocol',
  ],
]

function pongs(pong: Uint8Array): FakeBlockgameServerOptions {
  return {
    script: ({ socket }) =>
      socket.once('data', () => {
        socket.write(status)
        socket.once('data', () => socket.end(pong))
      }),
  }
}

function trickle({ socket }: FakeBlockgameConnection): void {
  const packet = encodeStatusPacket('x'.repeat(5000))
  let sent = 0
  const timer = setInterval(() => socket.write(packet.subarray(sent, ++sent)), 20)
  socket.once('close', () => clearInterval(timer))
}

function flood({ socket }: FakeBlockgameConnection): void {
  const noise = Buffer.alloc(65_536, 0x01)
  const pour = (): void => {
    // In a turn of its own: a reader in another process may take it all as fast as it is written.
    if (!socket.destroyed) socket.write(noise, () => setImmediate(pour))
  }
  socket.once('data', pour)
}

const modernVersion = { version: { name: '1.21.4', protocol: 769 } }
const counts = { players: { online: 3, max: 20 }, description: 'A fake server' }
const unknown = { version: { name: '', protocol: -1 } }
const kick = encodeKick('§1\u0000127\u0000x\u0000d\u00001\u00002')
const kicked = { version: { name: 'x', protocol: 127 }, ...plainCounts }
const betaMotd = { description: 'a § b', players: { online: 3, max: 20 } }

const eras: readonly (readonly [string, FakeBlockgameServerOptions, Case['expected']])[] = [
  ['today', {}, { ...counts, ...modernVersion }],
  ['1.6 that hangs up on packets it does not know', { era: '1.6' }, { ...counts, ...modernVersion }],
  ['1.6 that waits for more', { era: '1.6', unknownPacket: 'wait' }, { ...counts, ...modernVersion }],
  ['1.6 that kicks', { era: '1.6', unknownPacket: 'kick' }, { ...counts, ...modernVersion }],
  ['1.4 that hangs up', { era: '1.4' }, { ...counts, ...modernVersion }],
  ['1.4 that waits for more', { era: '1.4', unknownPacket: 'wait' }, { ...counts, ...modernVersion }],
  ['1.4 that kicks', { era: '1.4', unknownPacket: 'kick' }, { ...counts, ...modernVersion }],
  [
    'beta that takes its time, and breaks on a longer ping',
    { era: 'beta', delayMs: 100 },
    { ...counts, ...unknown },
  ],
  ['beta that hangs up', { era: 'beta' }, { ...counts, ...unknown }],
  ['beta that waits for more', { era: 'beta', unknownPacket: 'wait' }, { ...counts, ...unknown }],
  ['beta that kicks', { era: 'beta', unknownPacket: 'kick' }, { ...counts, ...unknown }],
  [
    'beta with a section sign in its description',
    { era: 'beta', status: betaMotd },
    { description: 'a b', players: { online: 3, max: 20 } },
  ],
  ['1.7 whose modern reply never comes', onlyLegacy(kick), kicked],
  ['1.7 with one byte at a time', onlyLegacy(...Array.from(kick, (byte) => bytes(byte))), kicked],
  [
    '1.7 with half a reply, then the rest and far more',
    onlyLegacy(kick.subarray(0, 9), Buffer.concat([kick.subarray(9), Buffer.alloc(9000)])),
    kicked,
  ],
]

/** Says nothing to a modern request. */
function onlyLegacy(...chunks: readonly Uint8Array[]): FakeBlockgameServerOptions {
  return {
    script: ({ socket }) =>
      socket.once('data', (chunk) => {
        if (chunk[0] === 0xfe) writeApart(socket, chunks)
      }),
  }
}

const slow: readonly Case[] = [
  {
    name: 'a modern status that comes after the legacy ping began',
    server: { status: plain, script: slowModern },
    expected: plain,
    timeoutMs: 4500,
  },
  {
    name: 'the same, though the legacy ping was answered at once',
    server: { script: slowModernFastLegacy },
    expected: plain,
    timeoutMs: 4500,
  },
]

function slowModern({ socket }: FakeBlockgameConnection): void {
  socket.once('data', (chunk) => {
    if (chunk[0] !== 0xfe) setTimeout(() => socket.end(status), 2700)
  })
}

function slowModernFastLegacy(connection: FakeBlockgameConnection): void {
  slowModern(connection)
  connection.socket.once('data', (chunk) => {
    if (chunk[0] === 0xfe) connection.socket.end(kick)
  })
}

/** Every case: odd but valid statuses, streams of all kinds, and servers of all eras. */
export const cases: readonly Case[] = [
  ...statuses.map(([name, value, expected]) => ({
    name: `status: ${name}`,
    server: { status: value },
    expected,
  })),
  ...streams.map(([name, server, expected]) => ({
    name: `stream: ${name}`,
    server,
    expected,
    // What ends by itself may take its time on a busy machine.
    ...(expected === 'timeout' && { timeoutMs: 600 }),
  })),
  ...eras.map(([name, server, expected]) => ({ name: `era: ${name}`, server, expected, timeoutMs: 6000 })),
  ...slow,
]
