import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  encodeLegacyPingHost,
  legacyPing,
  legacyReplySize,
  parseLegacyReply,
} from '../../../src/blockgame/codec/legacy.ts'
import { textOf } from '../../../src/blockgame/codec/text-component.ts'
import { ServerCheckError } from '../../../src/domain/server-status.ts'
import { encodeKick } from '../../../src/testing/blockgame-server.ts'

test('the request of 1.6', () => {
  expect(legacyPing).toEqual(Uint8Array.of(0xfe, 0x01))
  const channel = '004d0043007c00500069006e00670048006f00730074'
  const host = '006d0063002e00610062'
  // 0x11 bytes follow their count: protocol, the host and its length, the port.
  expect(Buffer.from(encodeLegacyPingHost('mc.ab', 25_565)).toString('hex')).toBe(
    `fa000b${channel}00114a0005${host}000063dd`,
  )
})

describe('replies', () => {
  test.for([
    ['§1\u000078\u00001.6.4\u0000A §aserver\u00003\u000020', '1.6.4', 78, 'A server', 3, 20],
    ['§1\u0000127\u00001.21.4\u0000x\u00000\u00005', '1.21.4', 127, 'x', 0, 5],
    ['§1\u000047\u00001.4.2\u0000\u00001\u00002', '1.4.2', 47, '', 1, 2],
    ['§1\u0000x\u0000\u0000motd\u0000many\u0000', '', -1, 'motd', 0, 0],
    ['§1\u00005\u0000x\u0000d\u0000-1\u00002147483647', 'x', 5, 'd', -1, 2_147_483_647],
    ['§1\u00005\u0000x\u0000d\u0000-0\u000012345678901', 'x', 5, 'd', 0, 0],
    ['§1\u0000', '', -1, '', 0, 0],
    ['A beta server§3§20', '', -1, 'A beta server', 3, 20],
    ['A beta server§12§20', '', -1, 'A beta server', 12, 20],
    ['§0§20', '', -1, '', 0, 20],
    ['a §bc§3§20', '', -1, 'a c', 3, 20],
  ] as const)('%j', ([text, name, protocol, description, online, max]) => {
    const { descriptionSpans = [], ...reply } = parseLegacyReply(encodeKick(text))
    expect(reply).toEqual({ players: { online, max }, version: { name, protocol }, description })
    expect(textOf(descriptionSpans)).toBe(description)
  })

  test.for([
    '',
    'Banned',
    '§cYou are §lbanned',
    'a§b',
    'a§1§b',
    'a§1§',
    'a§b§1',
    '3§20',
    'Outdated server! I am still on 1.5',
  ])('%j is a kick for another reason', (text) => {
    expect(() => parseLegacyReply(encodeKick(text))).toThrow(ServerCheckError)
  })

  test('a kick that is cut short is none, although it reads like one with fewer players', () => {
    const whole = encodeKick('§1\u00005\u0000x\u0000d\u00001\u000020')
    for (const length of [0, 2, whole.length - 2, whole.length - 1])
      expect(() => parseLegacyReply(whole.subarray(0, length))).toThrow(ServerCheckError)
    expect(parseLegacyReply(Buffer.concat([whole, Buffer.of(0)])).players.max).toBe(20)
  })

  test('any bytes are a status or a failed check', () => {
    const tail = fc.uint8Array({ maxLength: 100 })
    const kicks = fc
      .string({ unit: fc.constantFrom('§', '1', '0', '\0', 'a', '-'), maxLength: 40 })
      .map(encodeKick)
    fc.assert(
      fc.property(
        fc.oneof(
          tail,
          tail.map((bytes) => Uint8Array.of(0xff, 0, ...bytes)),
          kicks,
        ),
        (bytes) => {
          try {
            const { players } = parseLegacyReply(bytes)
            expect(Number.isInteger(players.online) && Number.isInteger(players.max)).toBe(true)
          } catch (error) {
            expect(error).toBeInstanceOf(ServerCheckError)
          }
        },
      ),
      { numRuns: 1000 },
    )
  })

  test('say how long they are as soon as three bytes are there', () => {
    expect(
      [[], [0xff], [0xff, 0], [0xff, 0, 5]].map((bytes) => legacyReplySize(Uint8Array.from(bytes))),
    ).toEqual([null, null, null, 13])
    expect(() => legacyReplySize(Uint8Array.of(0x00))).toThrow(ServerCheckError)
    expect(legacyReplySize(Uint8Array.of(0xff, 0x07, 0xd0))).toBe(4003)
    expect(() => legacyReplySize(Uint8Array.of(0xff, 0x07, 0xd1))).toThrow(ServerCheckError)
  })
})
