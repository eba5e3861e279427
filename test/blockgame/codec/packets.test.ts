import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  PacketReader,
  readStatusText,
  type Packet,
  type PacketLimits,
} from '../../../src/blockgame/codec/packets.ts'
import { encodePing, encodeStatusRequest } from '../../../src/blockgame/codec/requests.ts'
import { readVarInt, varIntSize, writeVarInt } from '../../../src/blockgame/codec/varint.ts'
import { ServerCheckError } from '../../../src/domain/server-status.ts'
import { encodePacket, encodeStatusPacket } from '../../../src/testing/blockgame-server.ts'

const runs = Number(process.env['FAST_CHECK_RUNS'] ?? 300)
const assertProperty = <Values>(property: fc.IProperty<Values>): void =>
  fc.assert(property, { numRuns: runs })

describe('VarInt', () => {
  test.for([
    [0, '00'],
    [1, '01'],
    [127, '7f'],
    [128, '8001'],
    [255, 'ff01'],
    [256, '8002'],
    [300, 'ac02'],
    [340, 'd402'],
    [25_565, 'ddc701'],
    [2_097_151, 'ffff7f'],
    [2_147_483_647, 'ffffffff07'],
    [-1, 'ffffffff0f'],
    [-2_147_483_648, '8080808008'],
  ] as const)('%i is %s', ([value, hex]) => {
    const bytes = new Uint8Array(varIntSize(value))
    expect(writeVarInt(bytes, 0, value)).toBe(bytes.length)
    expect(Buffer.from(bytes).toString('hex')).toBe(hex)
    expect(readVarInt(bytes, 0)).toEqual({ value, end: bytes.length })
  })

  test('is decoded as it was encoded', () => {
    assertProperty(
      fc.property(fc.integer(), fc.nat(9), (value, offset) => {
        const bytes = new Uint8Array(20)
        const end = writeVarInt(bytes, offset, value)
        expect(end - offset).toBe(varIntSize(value))
        expect(readVarInt(bytes, offset)).toEqual({ value, end })
        expect(readVarInt(bytes.subarray(0, end - 1), offset)).toBeNull()
      }),
    )
  })

  test('may be longer than necessary, but never more than five bytes', () => {
    expect(readVarInt(Uint8Array.of(0x81, 0x80, 0x80, 0x00), 0)).toEqual({ value: 1, end: 4 })
    expect(readVarInt(Uint8Array.of(0x80, 0x80, 0x80, 0x80, 0x80, 0x00), 0)).toBeNull()
  })
})

describe('requests', () => {
  test('handshake and status request are one run of bytes', () => {
    const bytes = encodeStatusRequest({ host: 'mc.example.com', port: 25565, protocolVersion: -1 })
    const hex = `1800ffffffff0f0e${Buffer.from('mc.example.com').toString('hex')}63dd010100`
    expect(Buffer.from(bytes).toString('hex')).toBe(hex)
  })

  test('any host, port and protocol number are decoded as they were encoded', () => {
    const host = fc.string({ unit: fc.constantFrom(...'abcxyz019-_.'), minLength: 1, maxLength: 255 })
    assertProperty(
      fc.property(host, fc.integer({ min: 1, max: 65_535 }), fc.integer(), (name, port, protocolVersion) => {
        const [handshake, request] = packetsOf([
          encodeStatusRequest({ host: name, port, protocolVersion }),
        ]).packets
        const payload = Buffer.from(handshake!.payload)
        const version = readVarInt(payload, 0)!
        const size = readVarInt(payload, version.end)!
        expect(version.value).toBe(protocolVersion)
        expect(payload.toString('utf8', size.end, size.end + size.value)).toBe(name)
        expect(payload.readUInt16BE(size.end + size.value)).toBe(port)
        expect(payload.at(-1)).toBe(1)
        expect(request).toMatchObject({ id: 0 })
      }),
    )
  })

  test('a ping is its length and nine bytes', () => {
    expect(Buffer.from(encodePing(-2n)).toString('hex')).toBe('0901fffffffffffffffe')
  })
})

interface Outcome {
  readonly packets: Packet[]
  readonly reader: PacketReader
  readonly bytesCopied: number
}

/** Every packet in these chunks, and how many bytes were copied for them. */
function packetsOf(chunks: readonly Uint8Array[], limits?: PacketLimits): Outcome {
  const reader = new PacketReader(limits)
  const packets: Packet[] = []
  let bytesCopied = 0
  for (const chunk of chunks) {
    const read = countingCopies(() => reader.add(chunk))
    bytesCopied += read.bytesCopied
    for (const { id, payload } of read.result) packets.push({ id, payload: Uint8Array.from(payload) })
  }
  return { packets, reader, bytesCopied }
}

const copying = ['set', 'slice', 'fill', 'copyWithin'] as const

/** Counts the bytes that go through the methods that copy, and through `Buffer.concat`. */
function countingCopies<Result>(work: () => Result): { result: Result; bytesCopied: number } {
  const bytes = Object.getPrototypeOf(Uint8Array.prototype) as Record<string, (...args: unknown[]) => unknown>
  const originals = copying.map((name) => [name, bytes[name]!] as const)
  const { concat } = Buffer
  let bytesCopied = 0
  for (const [name, original] of originals) {
    bytes[name] = function (this: Uint8Array, ...args) {
      bytesCopied += name === 'set' ? (args[0] as Uint8Array).length : this.length
      return original.apply(this, args)
    }
  }
  Buffer.concat = (list, size) => {
    bytesCopied += list.reduce((sum, { length }) => sum + length, 0)
    return concat(list, size)
  }
  try {
    return { result: work(), bytesCopied }
  } finally {
    for (const [name, original] of originals) bytes[name] = original
    Buffer.concat = concat
  }
}

/** Cuts bytes into chunks of these sizes, over and over. */
function cut(bytes: Uint8Array, sizes: readonly number[]): Uint8Array[] {
  const chunks: Uint8Array[] = []
  for (let start = 0; start < bytes.length;) {
    const end = start + (sizes[chunks.length % sizes.length] ?? 1)
    chunks.push(bytes.subarray(start, end))
    start = end
  }
  return chunks
}

const sizes = fc.array(fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 2000 })), {
  minLength: 1,
  maxLength: 6,
})
const anyPacket = fc.record({ id: fc.nat(200), payload: fc.uint8Array({ maxLength: 300 }) })

describe('packets out of a stream', () => {
  test('any packets in any segmentation are decoded as they were encoded', () => {
    assertProperty(
      fc.property(fc.array(anyPacket, { maxLength: 16 }), sizes, (packets, cuts) => {
        const stream = Buffer.concat(packets.map(({ id, payload }) => encodePacket(id, payload)))
        const outcome = packetsOf(cut(stream, cuts))
        expect(outcome.reader.failure).toBeNull()
        expect(outcome.packets).toEqual(packets)
      }),
    )
  })

  test('any bytes give the same packets and the same end in any segmentation, and nothing is thrown', () => {
    const shortLengths = fc
      .array(fc.uint8Array({ maxLength: 12 }), { maxLength: 12 })
      .map((parts) => Buffer.concat(parts))
    const bytes = fc.oneof(fc.uint8Array({ maxLength: 400 }), shortLengths)
    assertProperty(
      fc.property(bytes, sizes, (stream, cuts) => {
        const whole = packetsOf([stream])
        const pieces = packetsOf(cut(stream, cuts))
        expect(pieces.packets).toEqual(whole.packets)
        expect(pieces.reader.kicked).toBe(whole.reader.kicked)
        const [failure, wholeFailure] = [pieces.reader.failure, whole.reader.failure]
        expect(failure?.cause).toEqual(wholeFailure?.cause)
        if (failure !== null) expect(failure).toBeInstanceOf(ServerCheckError)
      }),
    )
  })

  test('bytes are copied three times at most, however they are cut', () => {
    assertProperty(
      fc.property(fc.integer({ min: 1, max: 4000 }), sizes, (size, cuts) => {
        const stream = encodePacket(0, new Uint8Array(size))
        const { packets, bytesCopied } = packetsOf(cut(stream, cuts))
        expect(packets[0]?.payload.length).toBe(size)
        expect(bytesCopied).toBeLessThan(3 * stream.length)
        if (cuts.every((each) => each < size)) expect(bytesCopied).toBeGreaterThan(0)
      }),
    )
  })

  test('a packet inside one chunk is not copied at all', () => {
    const { packets, bytesCopied } = packetsOf([encodePacket(0, new Uint8Array(100_000))])
    expect(packets).toHaveLength(1)
    expect(bytesCopied).toBe(0)
  })

  test('memory depends on the bytes received, not on the announced length', () => {
    const before = process.memoryUsage().arrayBuffers
    const readers = Array.from({ length: 200 }, () => {
      const reader = new PacketReader()
      expect(reader.add(Uint8Array.of(0x80, 0x80, 0x40, 0x00))).toEqual([])
      return reader
    })
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(readers.length * 8192)
  })

  test('packets before a failure are still returned, and none after it', () => {
    const whole = encodePacket(5, new Uint8Array(3))
    const reader = new PacketReader()
    expect(reader.add(Buffer.concat([whole, Uint8Array.of(0), whole]))).toHaveLength(1)
    const { failure } = reader
    expect(failure).toMatchObject({ reason: 'protocol' })
    expect(reader.add(whole)).toEqual([])
    expect(reader.failure).toBe(failure)
  })
})

describe('limits', () => {
  test.for([
    ['a packet without an id', Uint8Array.of(0)],
    ['a length of four bytes', Uint8Array.of(0x80, 0x80, 0x80)],
    ['a length over the limit', Uint8Array.of(0x81, 0x80, 0x40)],
    ['an id that does not end', Uint8Array.of(1, 0x80)],
  ])('%s is refused', ([, bytes]) => {
    expect(packetsOf([bytes as Uint8Array]).reader.failure).toMatchObject({ reason: 'protocol' })
  })

  test('a length over the limit is refused before its bytes arrive', () => {
    expect(packetsOf([Uint8Array.of(0x80, 0x08)], { maxBytes: 1000 }).reader.failure).toMatchObject({
      reason: 'protocol',
    })
  })

  test('a stream over the limit is refused whatever its packets', () => {
    const packet = encodePacket(3, new Uint8Array(98))
    expect(
      packetsOf(
        Array.from({ length: 10 }, () => packet),
        { maxBytes: 1000 },
      ).reader.failure,
    ).toBeNull()
    expect(
      packetsOf(
        Array.from({ length: 11 }, () => packet),
        { maxBytes: 1000 },
      ).reader.failure,
    ).toMatchObject({ reason: 'protocol' })
  })

  test('one byte over the limit is refused before it is read', () => {
    expect(packetsOf([Uint8Array.of(2, 1, 0)], { maxBytes: 3 }).reader.failure).toBeNull()
    const tooMuch = packetsOf([Uint8Array.of(2, 1, 0, 2)], { maxBytes: 3 })
    expect(tooMuch).toMatchObject({ packets: [], reader: { kicked: false, failure: { reason: 'protocol' } } })
  })

  test('are 1 MiB and 16 packets by default', () => {
    const longest = encodePacket(0, new Uint8Array(2 ** 20 - 4))
    expect(longest).toHaveLength(2 ** 20)
    expect(packetsOf([longest]).reader.failure).toBeNull()
    expect(packetsOf([longest, Uint8Array.of(1)]).reader.failure).toMatchObject({ reason: 'protocol' })
    const packets = Array.from({ length: 17 }, () => encodePacket(3, new Uint8Array()))
    expect(packetsOf(packets.slice(1)).reader.failure).toBeNull()
    expect(packetsOf(packets).reader.failure).toMatchObject({ reason: 'protocol' })
  })

  test('packets over the limit are refused', () => {
    const stream = Buffer.concat(Array.from({ length: 4 }, () => encodePacket(3, new Uint8Array())))
    expect(packetsOf([stream], { maxPackets: 4 }).reader.failure).toBeNull()
    expect(packetsOf([stream], { maxPackets: 3 }).packets).toHaveLength(3)
    expect(packetsOf([stream], { maxPackets: 3 }).reader.failure).toMatchObject({ reason: 'protocol' })
  })
})

describe('a kick', () => {
  test.for([[[0xff, 0x00]], [[0xff, 0x00, 0x23]]])('%j is one', ([bytes]) => {
    for (const chunks of [[Uint8Array.from(bytes!)], cut(Uint8Array.from(bytes!), [1])]) {
      const reader = { kicked: true, failure: { reason: 'protocol' } }
      expect(packetsOf(chunks)).toMatchObject({ packets: [], reader })
    }
  })

  test('one packet length in 128 begins like a kick but is not one', () => {
    for (let length = 255; length < 70_000; length += 128) {
      const stream = encodePacket(1, new Uint8Array(length - 1))
      expect(stream[0]).toBe(0xff)
      expect(packetsOf(cut(stream, [1, 1, 100_000])).packets).toHaveLength(1)
    }
  })

  test('only the first bytes of a stream can be a kick', () => {
    const stream = Buffer.concat([encodePacket(1, new Uint8Array(3)), Uint8Array.of(0xff, 0x00)])
    expect(packetsOf([stream])).toMatchObject({ reader: { kicked: false } })
  })
})

const textOf = (bytes: Uint8Array): string => readStatusText(packetsOf([bytes]).packets[0]!)

describe('the text of a status', () => {
  test('any text is decoded as it was encoded', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 500 })
    assertProperty(
      fc.property(text, (value) => {
        expect(textOf(encodeStatusPacket(value))).toBe(value)
      }),
    )
  })

  test('what follows it is ignored', () => {
    const { payload } = packetsOf([encodeStatusPacket('{}')]).packets[0]!
    expect(readStatusText({ id: 0, payload: Buffer.concat([payload, Buffer.from('more')]) })).toBe('{}')
  })

  test.for([
    [[]],
    [[0x80]],
    [[5, 0x7b]],
    [[0xff, 0xff, 0xff, 0xff, 0x0f]],
    [[0xff, 0xff, 0xff, 0xff, 0x07, 0x7b]],
  ])('%j is none', ([payload]) => {
    expect(() => readStatusText({ id: 0, payload: Uint8Array.from(payload!) })).toThrow(ServerCheckError)
  })
})
