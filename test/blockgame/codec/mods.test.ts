import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseStatus } from '../../../src/blockgame/codec/status.ts'
import { varIntSize, writeVarInt } from '../../../src/blockgame/codec/varint.ts'
import { codePoint } from '../../support/code-point.ts'

interface PackedMod {
  readonly id: string
  readonly version: string | null
  readonly channels: number
}

function varInt(value: number): Buffer {
  const bytes = Buffer.alloc(varIntSize(value))
  writeVarInt(bytes, 0, value)
  return bytes
}

const utf8 = (text: string): Buffer => Buffer.concat([varInt(Buffer.byteLength(text)), Buffer.from(text)])

/** What Forge sends since 1.18: 15 bits to a unit, after two units with the number of octets. */
function pack(octets: Buffer, size = octets.length): string {
  const bits = [...octets].flatMap((octet) => Array.from({ length: 8 }, (_, bit) => (octet >> bit) & 1))
  const units = [size & 0x7fff, size >>> 15]
  for (let start = 0; start < bits.length; start += 15)
    units.push(bits.slice(start, start + 15).reduce((unit, bit, index) => unit | (bit << index), 0))
  return String.fromCharCode(...units)
}

function packMods(mods: readonly PackedMod[]): string {
  const count = Buffer.alloc(3)
  count.writeUInt16BE(mods.length, 1)
  const each = mods.map(({ id, version, channels }) =>
    Buffer.concat([
      varInt((channels << 1) | (version === null ? 1 : 0)),
      utf8(id),
      ...(version === null ? [] : [utf8(version)]),
      ...Array.from({ length: channels }, () => Buffer.concat([utf8('main'), utf8('1.0'), Buffer.of(1)])),
    ]),
  )
  return pack(Buffer.concat([count, ...each, varInt(0)]))
}

const modsOf = (status: object): unknown => parseStatus(JSON.stringify({ players: {}, ...status })).mods

describe('mods', () => {
  test.for([
    ['none', {}, undefined],
    [
      'before 1.13',
      { modinfo: { type: 'FML', modList: [{ modid: 'jei', version: '4.15' }] } },
      [{ id: 'jei', version: '4.15' }],
    ],
    [
      'since 1.13',
      {
        forgeData: {
          fmlNetworkVersion: 2,
          mods: [
            { modId: 'jei', modmarker: '7.6' },
            { modId: 'forge', modmarker: 'ANY' },
          ],
        },
      },
      [
        { id: 'jei', version: '7.6' },
        { id: 'forge', version: 'ANY' },
      ],
    ],
    ['an empty list', { modinfo: { modList: [] } }, undefined],
    ['no list', { forgeData: { mods: 'jei' }, modinfo: null }, undefined],
    [
      'members that are none',
      { forgeData: { mods: [null, 5, {}, { modId: 5 }, { modId: 'a' }] } },
      [{ id: 'a', version: '' }],
    ],
    [
      'control characters',
      { modinfo: { modList: [{ modid: 'a\u001b[2J', version: '\u202e1' }] } },
      [{ id: 'a[2J', version: '1' }],
    ],
  ] as const)('%s', ([, status, mods]) => {
    expect(modsOf(status)).toEqual(mods)
  })

  test('are at most a thousand, with bounded texts', () => {
    const mods = Array.from({ length: 1500 }, () => ({ modId: 'x'.repeat(500), modmarker: 'y'.repeat(500) }))
    const read = modsOf({ forgeData: { mods } }) as { id: string; version: string }[]
    expect(read).toHaveLength(1000)
    expect([read[0]?.id.length, read[0]?.version.length]).toEqual([64, 256])
  })
})

describe('packed mods', () => {
  const mod = fc.record({
    id: fc.stringMatching(/^[a-z][a-z0-9_]{1,20}$/),
    version: fc.option(fc.stringMatching(/^[0-9.]{1,8}$/)),
    channels: fc.nat(3),
  })

  test('are read as they were packed', () => {
    fc.assert(
      fc.property(fc.array(mod, { minLength: 1, maxLength: 40 }), (mods) => {
        const expected = mods.map(({ id, version }) => ({ id, version: version ?? '' }))
        expect(modsOf({ forgeData: { mods: [], d: packMods(mods) } })).toEqual(expected)
      }),
      { numRuns: 200 },
    )
  })

  test('with channels without end are read to their end', () => {
    const octets = Buffer.concat([Buffer.of(0, 0, 2), varInt(0x7ffffffe), utf8('a'), utf8('1')])
    expect(modsOf({ forgeData: { d: pack(octets) } })).toEqual([{ id: 'a', version: '1' }])
  })

  test.for([
    ['no octets', ''],
    ['one unit', 'a'],
    ['two units', 'ab'],
    ['a size of a gigabyte', pack(Buffer.of(0, 0, 1), 2 ** 30)],
    ['a negative size', '\u7fff\uffff'],
    ['half a mod', packMods([{ id: 'abcdefgh', version: '1', channels: 0 }]).slice(0, 5)],
  ] as const)('that are %s are none', ([, d]) => {
    expect(modsOf({ forgeData: { d } })).toBeUndefined()
  })

  test('that are anything do no harm', () => {
    fc.assert(
      fc.property(fc.string({ unit: codePoint, maxLength: 300 }), (d) => {
        const mods = (modsOf({ forgeData: { d } }) ?? []) as object[]
        expect(mods.length).toBeLessThanOrEqual(1000)
      }),
    )
  })
})

describe('flags', () => {
  test('are passed on if they are true or false', () => {
    const flags = { enforcesSecureChat: true, previewsChat: false, preventsChatReports: true }
    expect(parseStatus(JSON.stringify({ players: {}, ...flags }))).toMatchObject(flags)
    const status = parseStatus(
      '{"players":{},"enforcesSecureChat":"true","previewsChat":1,"preventsChatReports":null}',
    )
    for (const flag of Object.keys(flags)) expect(status).not.toHaveProperty(flag)
  })
})

describe('the status as it was sent', () => {
  const nested = (depth: number): string => `{"players":{},"x":${'['.repeat(depth)}1${']'.repeat(depth)}}`

  test('is there if it was asked for', () => {
    expect(parseStatus('{"players":{"online":"3"}}', { raw: true }).raw).toEqual({ players: { online: '3' } })
    expect(parseStatus('{"players":{}}')).not.toHaveProperty('raw')
  })

  test('is left out if it is nested too deep to be walked', () => {
    expect(parseStatus(nested(510), { raw: true }).raw).toBeDefined()
    expect(parseStatus(nested(511), { raw: true })).not.toHaveProperty('raw')
    expect(parseStatus(nested(10_000), { raw: true })).not.toHaveProperty('raw')
  })
})
