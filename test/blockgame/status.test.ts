import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseStatus } from '../../src/blockgame/status.ts'
import { componentText } from '../../src/blockgame/text.ts'
import { ServerCheckError } from '../../src/domain/server-status.ts'

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

function attempt(text: string): ReturnType<typeof parseStatus> | null {
  try {
    return parseStatus(text)
  } catch (error) {
    if (error instanceof ServerCheckError && error.reason === 'protocol') return null
    throw error
  }
}

test('a polluted prototype answers for nobody', () => {
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

describe('hostile descriptions end soon', () => {
  test.for([
    ['deep', `${'{"extra":['.repeat(50_000)}"x"${']}'.repeat(50_000)}`],
    ['deep lists', `${'['.repeat(100_000)}"x"${']'.repeat(100_000)}`],
    ['wide', JSON.stringify({ text: 'a', extra: Array.from({ length: 100_000 }, () => 'b') })],
    ['long', JSON.stringify('x'.repeat(900_000))],
    ['full of codes', JSON.stringify('§'.repeat(900_000))],
  ] as const)('%s', ([, description]) => {
    const status = parseStatus(`{"players":{"online":1,"max":2},"description":${description}}`)
    expect(status.players).toEqual({ online: 1, max: 2 })
    expect(status.description.length).toBeLessThanOrEqual(4096)
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
    [{ text: { text: 'nested' } }, ''],
    [['a', ['b', { text: 'c' }], 1], 'abc1'],
    ['§x§f§f§0§0§0§0red', 'red'],
    ['50§', '50'],
    ['§§a', 'a'],
    ['§🎮x', 'x'],
    ['a\tb\r\nc\u0000', 'ab\nc'],
  ] as const)('%j reads %j', ([component, text]) => {
    expect(componentText(component)).toBe(text)
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

  test('a small PNG stays', () => {
    expect(faviconOf(png)).toBe(png)
    expect(faviconOf(`${png.slice(0, -1)}${'A'.repeat(60_000)}`)).toBeDefined()
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
})
