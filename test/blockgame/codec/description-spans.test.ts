import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { componentSpans, textOf } from '../../../src/blockgame/codec/text-component.ts'
import { parseStatus } from '../../../src/blockgame/codec/status.ts'
import { codePoint } from '../../support/code-point.ts'

const gold = { color: 'gold' } as const

describe('colors and styles', () => {
  test.for([
    ['text without formatting', 'plain', [{ text: 'plain' }]],
    ['nothing', '', []],
    ['a code', '§6gold', [{ text: 'gold', ...gold }]],
    ['a code in upper case', '§A§LHi', [{ text: 'Hi', color: 'green', bold: true }]],
    ['text before a code', 'a§cb', [{ text: 'a' }, { text: 'b', color: 'red' }]],
    [
      'a color ends decorations',
      '§l§nA§9B',
      [
        { text: 'A', bold: true, underlined: true },
        { text: 'B', color: 'blue' },
      ],
    ],
    [
      'a decoration keeps the color',
      '§6a§ob',
      [
        { text: 'a', ...gold },
        { text: 'b', ...gold, italic: true },
      ],
    ],
    [
      'all decorations',
      '§k§l§m§n§ox',
      [{ text: 'x', obfuscated: true, bold: true, strikethrough: true, underlined: true, italic: true }],
    ],
    ['a reset', '§6§la§rb', [{ text: 'a', ...gold, bold: true }, { text: 'b' }]],
    ['an unknown code', '§6a§zb', [{ text: 'ab', ...gold }]],
    ['a code at the end', '§6a§', [{ text: 'a', ...gold }]],
    ['a hexadecimal color of proxies', '§x§F§f§0§0§a§1red', [{ text: 'red', color: '#ff00a1' }]],
    ['half of one', '§x§f§fred', [{ text: 'red', color: 'white' }]],
    ['a named color', { text: 'a', color: 'gold' }, [{ text: 'a', ...gold }]],
    ['a hexadecimal color', { text: 'a', color: '#FF8800' }, [{ text: 'a', color: '#ff8800' }]],
    ['a short one, as the game reads it', { text: 'a', color: '#fff' }, [{ text: 'a', color: '#000fff' }]],
    ['no color', { text: 'a', color: 'javascript:alert(1)' }, [{ text: 'a' }]],
    ['no color either', { text: 'a', color: '#ff8800;}' }, [{ text: 'a' }]],
    ['a color of another type', { text: 'a', color: 5, bold: 'true' }, [{ text: 'a' }]],
    [
      'an inherited style',
      { text: 'a', color: 'gold', bold: true, extra: ['b', { text: 'c', bold: false }] },
      [
        { text: 'ab', ...gold, bold: true },
        { text: 'c', ...gold },
      ],
    ],
    [
      'a reset of an inherited color',
      { text: 'a', color: 'gold', extra: [{ text: 'b', color: 'reset' }] },
      [{ text: 'a', ...gold }, { text: 'b' }],
    ],
    [
      'a style of one part only',
      { text: '', extra: [{ text: 'a', italic: true }, 'b'] },
      [{ text: 'a', italic: true }, { text: 'b' }],
    ],
    [
      'a list, whose first member gives the others their style',
      [{ text: 'a', color: 'gold' }, 'b', { text: 'c', color: 'red' }],
      [
        { text: 'ab', ...gold },
        { text: 'c', color: 'red' },
      ],
    ],
    [
      'codes inside a component',
      { text: '§lA§rB', color: 'gold' },
      [
        { text: 'A', ...gold, bold: true },
        { text: 'B', ...gold },
      ],
    ],
    [
      'codes that do not reach the next part',
      { text: '', extra: ['§6a', 'b'] },
      [{ text: 'a', ...gold }, { text: 'b' }],
    ],
    ['a code in two parts', ['a§', '6b'], [{ text: 'a6b' }]],
    ['line feeds', '§6a\nb\u0007', [{ text: 'a\nb', ...gold }]],
  ] as const)('%s', ([, component, spans]) => {
    expect(componentSpans(component)).toEqual(spans)
  })
})

describe('translations', () => {
  test.for([
    ['an argument', { translate: '%s players', with: ['5'] }, '5 players'],
    ['arguments in order', { translate: '%s and %s', with: ['a', 'b'] }, 'a and b'],
    ['arguments by position', { translate: '%2$s before %1$s', with: ['a', 'b'] }, 'b before a'],
    ['both', { translate: '%s%2$s%s', with: ['a', 'b'] }, 'abb'],
    ['a percent sign', { translate: '100%% of %s', with: ['x'] }, '100% of x'],
    ['a number and a truth value', { translate: '%s %s', with: [5, true] }, '5 true'],
    ['the fallback', { translate: 'a.key', fallback: 'Hello %s', with: [{ text: 'Ada' }] }, 'Hello Ada'],
    ['the fallback without arguments', { translate: 'a.key', fallback: 'Hello' }, 'Hello'],
    [
      'the key',
      { translate: 'multiplayer.status.cannot_connect', with: ['x'] },
      'multiplayer.status.cannot_connect',
    ],
    ['what follows', { translate: '<%s>', with: ['a'], extra: [' b'] }, '<a> b'],
    [
      'an argument inside an argument',
      { translate: '%s!', with: [{ translate: '[%s]', with: ['x'] }] },
      '[x]!',
    ],
    ['an empty argument', { translate: 'a%sb', with: [null] }, 'ab'],
    ['too few arguments', { translate: '%s and %s', with: ['a'] }, '%s and %s'],
    ['no arguments', { translate: '%s' }, '%s'],
    ['arguments that are no list', { translate: '%s', with: 'abc' }, '%s'],
    ['position 0', { translate: '%0$s', with: ['a'] }, '%0$s'],
    ['another placeholder', { translate: '%d of %s', with: ['a'] }, '%d of %s'],
    ['a percent sign alone', { translate: '50% off', with: ['a'] }, '50% off'],
    ['a percent sign at the end', { translate: '%s 100%', with: ['a'] }, '%s 100%'],
    ['text, which has no placeholders', { text: '%s', with: ['a'] }, '%s'],
  ] as const)('%s', ([, component, text]) => {
    expect(textOf(componentSpans(component))).toBe(text)
  })

  test('an argument inherits the style, and has its own', () => {
    const component = { translate: 'a %s', color: 'gold', with: [{ text: 'b', bold: true }] }
    expect(componentSpans(component)).toEqual([
      { text: 'a ', ...gold },
      { text: 'b', ...gold, bold: true },
    ])
  })

  test('however often an argument is repeated, the bounds hold', () => {
    const repeated = (inner: unknown): unknown => ({ translate: '%1$s'.repeat(5000), with: [inner] })
    const component = repeated(repeated(repeated(repeated('x'.repeat(100_000)))))
    expect(textOf(componentSpans(component)).length).toBeLessThanOrEqual(4096)
  })
})

const code = fc.constantFrom('§', '§6', '§e', '§l', '§r', '§x§f§f§0§0§0§0', '%s', '%1$s', '%%')
const piece = fc.oneof(
  code,
  fc.string({ unit: codePoint, maxLength: 12 }),
  fc.constantFrom('a', '\n', '\u202e', '🎮'),
)
const text = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''))
const long = fc.tuple(text, fc.nat({ max: 3000 })).map(([each, times]) => each.repeat(times))
const { component } = fc.letrec<{ component: unknown }>((tie) => ({
  component: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    { arbitrary: text, weight: 4 },
    { arbitrary: long, weight: 1 },
    fc.constantFrom(null, true, 0, -1.5, {}),
    fc.array(tie('component'), { maxLength: 4 }),
    fc.record(
      {
        text,
        translate: text,
        fallback: text,
        with: fc.oneof(fc.array(tie('component'), { maxLength: 3 }), text),
        extra: fc.oneof(fc.array(tie('component'), { maxLength: 4 }), tie('component')),
        color: fc.oneof(fc.constantFrom('gold', 'reset', '#fff', '#A1B2C3', 'url(x)'), text),
        bold: fc.oneof(fc.boolean(), text),
        obfuscated: fc.boolean(),
      },
      { requiredKeys: [] },
    ),
  ),
}))

const allowedColor = /^(?:#[0-9a-f]{6}|[a-z]{3,6}|(?:dark|light)_[a-z]+)$/
// oxlint-disable-next-line no-control-regex
const unwanted = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u

test('no description exceeds the bounds of its spans', () => {
  fc.assert(
    fc.property(component, (description) => {
      const status = parseStatus(JSON.stringify({ players: {}, description }))
      const { descriptionSpans: spans = [] } = status
      const whole = textOf(spans)
      if (status.description !== whole || spans.length > 1000) throw new Error('another text, or too many')
      if ([...whole].length > 4096 || unwanted.test(whole) || !whole.isWellFormed())
        throw new Error('bad text')
      for (const { text: each, color, ...decorations } of spans) {
        if (each === '' || (color !== undefined && !allowedColor.test(color))) throw new Error('a bad span')
        if (Object.values(decorations).some((value) => value !== true)) throw new Error('a bad style')
      }
    }),
    { numRuns: Number(process.env['FAST_CHECK_RUNS'] ?? 2000) },
  )
})

test('beyond a thousand spans, the text stays and the style does not', () => {
  const description = Array.from({ length: 2000 }, (_, index) => (index % 2 === 0 ? '§6a' : '§cb')).join('')
  const spans = componentSpans(description)
  expect(spans).toHaveLength(1000)
  expect(textOf(spans)).toBe('ab'.repeat(1000))
})

test('beyond a thousand parts, counting the list that holds the others, nothing is read', () => {
  expect(textOf(componentSpans(Array.from({ length: 2000 }, () => 'a')))).toBe('a'.repeat(999))
})

test('a bound in the middle of a style cuts there', () => {
  const spans = componentSpans([
    { text: '🎮'.repeat(4000), color: 'gold' },
    { text: 'x'.repeat(500), color: 'red' },
  ])
  expect(spans.map((span) => [[...span.text].length, span.color])).toEqual([
    [4000, 'gold'],
    [96, 'red'],
  ])
})
