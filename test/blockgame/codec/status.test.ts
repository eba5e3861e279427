import * as fc from 'fast-check'
import { inspect } from 'node:util'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { parseLegacyReply } from '../../../src/blockgame/codec/legacy.ts'
import { parseStatus, type StatusReply } from '../../../src/blockgame/codec/status.ts'
import { componentSpans, textOf } from '../../../src/blockgame/codec/text-component.ts'
import { ServerCheckError } from '../../../src/domain/server-status.ts'
import { encodeKick } from '../../../src/testing/blockgame-server.ts'
import { codePoint } from '../../support/code-point.ts'

const componentText = (component: unknown): string => textOf(componentSpans(component))

// Odd but valid statuses are with the loopback cases; here is what needs many values, or a hostile one.

const json = fc.json({ maxDepth: 4 })
const statusLike = fc
  .record(
    {
      players: fc.oneof(
        fc.jsonValue(),
        fc.record({ online: fc.jsonValue(), max: fc.jsonValue(), sample: fc.jsonValue() }),
      ),
      version: fc.oneof(fc.jsonValue(), fc.record({ name: fc.jsonValue(), protocol: fc.jsonValue() })),
      description: fc.jsonValue(),
      favicon: fc.jsonValue(),
    },
    { requiredKeys: [] },
  )
  .map((value) => JSON.stringify(value))

test('any JSON, and any text, is a status of the right types or a failed check', () => {
  fc.assert(
    fc.property(fc.oneof(json, statusLike, fc.string()), (text) => {
      const status = attempt(text)
      if (status === null) return
      expect(
        [status.players.online, status.players.max, status.version.protocol].every(Number.isInteger),
      ).toBe(true)
      expect([typeof status.version.name, typeof status.description]).toEqual(['string', 'string'])
      expect(JSON.parse(JSON.stringify(status))).toEqual(status)
    }),
    { numRuns: Number(process.env['FAST_CHECK_RUNS'] ?? 1000) },
  )
})

// oxlint-disable-next-line no-control-regex
const steering = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u
const hostile = '\u001b]0;x\u0007\u009b31m\u0000\u061c\u202eabc\u2066'
const codePoints = (text: string): number => [...text].length

/** Every text of a status but the icon, with its bound in code points. */
function textsOf({ version, description, sample = [] }: StatusReply): [text: string, limit: number][] {
  const players = sample.flatMap(({ name, id }): [string, number][] => [
    [name, 256],
    [id, 64],
  ])
  return [[version.name, 256], [description, 4096], ...players]
}

describe('no text of a server is long or can control a terminal', () => {
  const texts = fc.oneof(
    fc.constantFrom(
      'x'.repeat(20_000),
      '🎮'.repeat(5000),
      hostile.repeat(2000),
      `\0${'🎮'.repeat(5000)}`,
      'a\ud83c',
    ),
    fc.string({ unit: codePoint, maxLength: 300 }),
  )

  test('in a status', () => {
    fc.assert(
      fc.property(texts, texts, (text, id) => {
        const sample = Array.from({ length: 3 }, () => ({ name: text, id }))
        const status = { version: { name: text, protocol: 5 }, players: { sample }, description: text }
        for (const [each, limit] of textsOf(parseStatus(JSON.stringify(status)))) {
          expect(steering.test(each)).toBe(false)
          expect(each.isWellFormed()).toBe(true)
          expect(codePoints(each)).toBeLessThanOrEqual(limit)
        }
      }),
    )
  })

  test('in a legacy reply', () => {
    const kicked = fc.tuple(texts, texts).map(([name, description]) => {
      const [first, second] = [name, description].map((text) => text.replaceAll('\0', '').slice(0, 900))
      return parseLegacyReply(encodeKick(`§1\0\u0034\0${first}\0${second}\u00003\u00009`))
    })
    fc.assert(
      fc.property(kicked, (status) => {
        for (const [each, limit] of textsOf(status)) {
          expect(steering.test(each)).toBe(false)
          expect(each.isWellFormed()).toBe(true)
          expect(codePoints(each)).toBeLessThanOrEqual(limit)
        }
      }),
    )
  })

  test('what is out of bounds is cut there', () => {
    const long = 'x'.repeat(5000)
    const players = { sample: [{ name: long, id: long }] }
    const status = parseStatus(JSON.stringify({ version: { name: long }, players, description: long }))
    expect(textsOf(status).map(([text]) => text.length)).toEqual([256, 4096, 256, 64])
  })

  test('what is in bounds stays as it is', () => {
    const name = '§6' + '🎮'.repeat(254)
    const sample = [{ name: '🎮'.repeat(256), id: '0d2f8a9e-52a8-3c21-9c3f-0a1b2c3d4e5f' }]
    const status = parseStatus(
      JSON.stringify({ version: { name }, players: { sample }, description: '🎮'.repeat(2000) }),
    )
    expect(status).toMatchObject({ version: { name }, sample, description: '🎮'.repeat(2000) })
  })
})

describe('nothing a server sent is in the error, its causes or their stacks', () => {
  const secret = 'Z3k9'
  test.for([
    ['no JSON', () => parseStatus(`\u001b[31m${secret}`)],
    ['half of a JSON', () => parseStatus(`{"${secret}":1,"b":\u001b`)],
    ['JSON and more', () => parseStatus(`{"players":{}} ${secret}`)],
    ['JSON that is no status', () => parseStatus(`{"error":"${secret}"}`)],
    ['a kick for another reason', () => parseLegacyReply(encodeKick(`\u001b[31m${secret}`))],
    ['half a kick', () => parseLegacyReply(encodeKick(secret).subarray(0, 9))],
  ] as const)('%s', ([, read]) => {
    let error: unknown
    try {
      read()
    } catch (thrown) {
      error = thrown
    }
    expect(error).toBeInstanceOf(ServerCheckError)
    const shown = inspect(error, { depth: null }).replaceAll(/^ {4,}at .*$/gm, '')
    expect(shown).toContain('The server sent')
    expect(shown).not.toMatch(/Z3k|k9/)
    expect(shown).not.toContain('\u001b')
  })
})

function attempt(text: string): ReturnType<typeof parseStatus> | null {
  try {
    return parseStatus(text)
  } catch (error) {
    if (error instanceof ServerCheckError && error.reason === 'protocol') return null
    throw error
  }
}

test('a polluted prototype changes no result', () => {
  const prototype = Object.prototype as { players?: unknown; text?: unknown }
  prototype.players = { online: 666, max: 666 }
  prototype.text = 'polluted'
  try {
    expect(parseStatus('{"description":{}}')).toMatchObject({
      players: { online: 0, max: 0 },
      description: '',
    })
  } finally {
    delete prototype.players
    delete prototype.text
  }
})

describe('hostile descriptions are parsed quickly', () => {
  test.for([
    ['deep', `${'{"extra":['.repeat(16_000)}"x"${']}'.repeat(16_000)}`],
    ['deep lists', `${'['.repeat(32_000)}"x"${']'.repeat(32_000)}`],
    ['wide', JSON.stringify({ text: 'a', extra: Array.from({ length: 32_000 }, () => 'b') })],
    ['long', JSON.stringify('x'.repeat(900_000))],
    ['full of codes', JSON.stringify('§'.repeat(900_000))],
  ] as const)('%s', ([, description]) => {
    const status = parseStatus(`{"players":{"online":1,"max":2},"description":${description}}`)
    expect(status.players).toEqual({ online: 1, max: 2 })
    expect(status.description.length).toBeLessThanOrEqual(4096)
  })
})

// Parsing a MiB of these takes sixty times as long as a MiB of text.
describe('a status of more values than 32,768 is refused before it is parsed', () => {
  const statusOf = (description: string): string => `{"players":{"online":1},"description":${description}}`
  // Outside the description there are three: the status, the players and the description's own.
  const list = (length: number): string => JSON.stringify(Array.from({ length }, () => ''))

  test.for([
    ['deep lists', '['.repeat(400_000)],
    ['deep objects', '{"a":'.repeat(200_000)],
    ['many members', `{${Array.from({ length: 80_000 }, (_, index) => `"${index}":1`).join(',')}}`],
    ['one too many', list(32_766)],
  ] as const)('%s', ([, description]) => {
    const parse = vi.spyOn(JSON, 'parse')
    onTestFinished(() => parse.mockRestore())
    const tooMany = expect.objectContaining({
      reason: 'protocol',
      cause: expect.objectContaining({ message: 'The server sent too many values.' }),
    })
    expect(() => parseStatus(statusOf(description))).toThrow(tooMany)
    expect(parse).not.toHaveBeenCalled()
  })

  test('one less is not', () => {
    expect(parseStatus(statusOf(list(32_765))).players.online).toBe(1)
  })
})

describe('descriptions', () => {
  test.for([
    ['plain', 'plain'],
    ['', ''],
    [null, ''],
    [true, 'true'],
    [{}, ''],
    [{ text: '' }, ''],
    [{ text: 'a', extra: [{ text: 'b', extra: ['c'] }, 'd'] }, 'abcd'],
    [{ text: 'a', extra: 'b' }, 'ab'],
    [{ translate: 'key', fallback: 'shown' }, 'shown'],
    [{ keybind: 'key.jump' }, 'key.jump'],
    [{ text: 'a', fallback: 'b', translate: 'c', keybind: 'd' }, 'a'],
    [{ text: { text: 'nested' } }, ''],
    [['a', ['b', { text: 'c' }], 1], 'abc1'],
    ['§x§f§f§0§0§0§0red', 'red'],
    ['50§', '50'],
    ['§§a', 'a'],
    ['§🎮x', 'x'],
    ['§\nx', 'x'],
    ['a\tb\r\nc\u0000', 'ab\nc'],
  ] as const)('%j reads %j', ([component, text]) => {
    expect(componentText(component)).toBe(text)
  })

  test('in parts are as long as in one, up to a thousand parts', () => {
    expect(componentText(Array(500).fill('🎮'.repeat(8)))).toBe('🎮'.repeat(4000))
    expect(componentText(Array(50).fill(Array(50).fill('b'))).length).toBeLessThanOrEqual(1000)
  })
})

function faviconOf(favicon: unknown): string | undefined {
  return parseStatus(JSON.stringify({ players: {}, favicon })).favicon
}

describe('favicons', () => {
  const png = 'data:image/png;base64,iVBORw0KGgoAAAA='

  test.for(['" onerror="alert(1)', '<script>', '\n', '\u0000', ' '])(
    'nothing but base64 gets through, not even %j',
    (tail) => {
      expect(faviconOf(`${png}${tail}`)).toBe(png)
      expect(faviconOf(`${png.slice(0, 30)}${tail}${png.slice(30)}`) ?? '').toMatch(/^[a-zA-Z0-9:;,/+=]*$/)
    },
  )

  test('a small PNG is kept', () => {
    expect(faviconOf(png)).toBe(png)
    expect(faviconOf(`${png.slice(0, -1)}${'A'.repeat(60_000)}`)).toBeDefined()
  })

  test('one of up to 65,536 characters is kept, with the padding that it lacks', () => {
    const ofLength = (length: number) => faviconOf(png.slice(0, -1).padEnd(length, 'A'))?.length
    expect([65_534, 65_535, 65_536, 65_537].map(ofLength)).toEqual([65_534, 65_534, undefined, undefined])
    expect(faviconOf(png.slice(0, -1).padEnd(65_534, 'A') + '\n\n')).toHaveLength(65_534)
    expect(faviconOf(png.slice(0, -1).padEnd(65_534, 'A') + '\n\n\n')).toBeUndefined()
  })

  test.for([
    '',
    'iVBORw0KGgoAAAA=',
    'data:image/svg+xml;base64,PHN2Zz4=',
    'data:image/png;base64,R0lGODlh',
    'https://example.com/icon.png',
    `${png.slice(0, -1)}${'A'.repeat(70_000)}`,
    5,
    {},
    [png],
  ])('%j does not', (favicon) => {
    expect(faviconOf(favicon)).toBeUndefined()
  })
})

test('a sample is bounded', () => {
  const sample = Array.from({ length: 5000 }, (_, index) => ({ name: `p${index}`, id: 5 }))
  const status = parseStatus(JSON.stringify({ players: { online: 1, max: 1, sample } }))
  expect(status.sample).toHaveLength(100)
  expect(status.sample?.[99]).toEqual({ name: 'p99', id: '' })
  expect(parseStatus('{"players":{"sample":[null]}}')).not.toHaveProperty('sample')
})
