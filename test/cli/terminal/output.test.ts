import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import {
  jsonListPrinter,
  printJson,
  printLog,
  printLogJson,
  printLogLine,
  timeText,
} from '../../../adapters/cli/terminal/output.ts'
import { tablePrinter } from '../../../adapters/cli/terminal/table.ts'
import { cut, printable, widthOf, wrap } from '../../../adapters/cli/terminal/terminal-text.ts'

const hostile = 'a\u0000\u0007\t\r\u001b[2J\u007f\u0085\u009b\u061c\u200e\u200f\u202a\u202e\u2066\u2069b'
// oxlint-disable-next-line no-control-regex
const steering = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/

function printed(stream: 'log' | 'error', print: () => void): string {
  const spy = vi.spyOn(console, stream).mockImplementation(() => {})
  print()
  const text = String(spy.mock.calls[0])
  spy.mockRestore()
  return text
}

test('text in a line', () => {
  expect(printable(`${hostile}\n`)).toBe(
    String.raw`a\u0000\u0007\u0009\u000d\u001b[2J\u007f\u0085\u009b\u061c\u200e\u200f\u202a\u202e\u2066\u2069b\u000a`,
  )
})

test('JSON keeps its value', () => {
  const value = { [hostile]: [hostile, { text: `\n${hostile}` }] }
  const text = printed('log', () => printJson(value))
  expect(text).not.toMatch(steering)
  expect(JSON.parse(text)).toEqual(value)
})

test('a log entry, the messages and causes of its errors included', () => {
  const cause = new Error(hostile, { cause: new Error(`inner ${hostile}`) })
  const text = printed('error', () => printLog('error', hostile, { cause }))
  expect(text).not.toMatch(steering)
  expect(text).toContain('inner')
  expect(text).toMatch(/\n {4,}at /)
})

test('a line narrower than its indent still ends', () => {
  fc.assert(
    fc.property(fc.string(), fc.integer({ min: 1, max: 12 }), (text, columns) => {
      const lines = wrap(text, columns, ' '.repeat(8))
      expect(lines.length).toBeLessThanOrEqual(2 + 2 * text.length)
    }),
  )
})

test('a time beyond the last date is shown as its number, and one at the first is no missing one', () => {
  expect([timeText(null), timeText(0), timeText(1000), timeText(9e15)]).toEqual([
    '',
    '1970-01-01T00:00:00Z',
    '1970-01-01T00:00:01Z',
    '9000000000000000',
  ])
})

test('a log line stays one line', () => {
  const text = printed('error', () => printLogLine(`one\ntwo ${hostile}`))
  expect(text).not.toMatch(steering)
  expect(text).not.toContain('\n')
})

test('a log entry in JSON, with what its errors say', () => {
  const cause = Object.assign(new Error(hostile), { code: 'ECONNREFUSED' })
  const text = printed('error', () => printLogJson({ message: hostile, cause }))
  expect(text).not.toMatch(steering)
  expect(text).not.toContain('\n')
  expect(JSON.parse(text)).toMatchObject({
    message: hostile,
    cause: { name: 'Error', message: hostile, code: 'ECONNREFUSED', stack: expect.stringContaining('at ') },
  })
})

test('a table: no cell wider than 64 columns, nothing that steers', () => {
  const text = printed('log', () =>
    tablePrinter(['A', 'B'])([
      [hostile, 'x'.repeat(65)],
      [`e${'\u0301'.repeat(1000)}`, 'x'.repeat(64)],
    ]),
  )
  expect(text).not.toMatch(steering)
  const [, short = '', whole = ''] = text.split('\n')
  expect(short).toMatch(/ x{63}…$/)
  expect(whole).toMatch(/ x{64}$/)
  expect(whole.length).toBeLessThan(200)
})

/** Everything that is printed. */
function allPrinted(print: () => void): string {
  const lines: string[] = []
  const spy = vi.spyOn(console, 'log').mockImplementation((text) => void lines.push(`${text}\n`))
  print()
  spy.mockRestore()
  return lines.join('')
}

test('a table in pages has one heading, and columns that never get narrower', () => {
  const text = allPrinted(() => {
    const print = tablePrinter(['A', 'B'])
    for (const page of [[['1', '2']], [], [['long', '2']], [['3', '4']]]) print(page)
  })
  expect(text).toBe('A  B\n1  2\nlong  2\n3     4\n')
  expect(allPrinted(() => tablePrinter(['A', 'B'])([]))).toBe('A  B\n')
})

test('a list in pages is the JSON of all its rows at once', () => {
  const row = fc.record({ name: fc.oneof(fc.string(), fc.constant(hostile)), at: fc.array(fc.integer()) })
  fc.assert(
    fc.property(fc.array(fc.array(row)), (pages) => {
      const text = allPrinted(() => {
        const print = jsonListPrinter('rows')
        for (const page of pages) print.rows(page)
        print.end()
      })
      expect(text).toBe(allPrinted(() => printJson({ rows: pages.flat() })))
    }),
  )
})

describe('the width of text', () => {
  test.each([
    ['plain', 5],
    ['山田', 4],
    ['한국어', 6],
    ['ﾊﾝｶｸ', 4],
    ['é', 1],
    ['e\u0301', 1],
    ['👍', 2],
    ['👍🏽', 2],
    ['👨‍👩‍👧', 2],
    ['🇳🇱', 2],
    ['❤️', 2],
    ['❤', 1],
    ['✅', 2],
    ['zero\u200bwidth', 9],
  ])('%s', (text, width) => {
    expect(widthOf(text)).toBe(width)
  })

  test('a cut leaves whole characters, and no more columns than there are', () => {
    expect(cut('山田太郎', 8)).toBe('山田太郎')
    expect(cut('山田太郎', 7)).toBe('山田太…')
    expect(cut('山田太郎', 6)).toBe('山田…')
    expect(cut('ab👨‍👩‍👧cd', 4)).toBe('ab…')
  })

  test('what is wrapped fits, and loses nothing but the spaces it breaks at', () => {
    expect(wrap('ようこそ サーバーへ', 8, '  ')).toEqual(['ようこそ', '  サーバ', '  ーへ'])
    const words = fc.array(fc.string({ unit: fc.constantFrom('a', '山', '👍🏽', 'e\u0301'), minLength: 1 }))
    fc.assert(
      fc.property(words, fc.integer({ min: 4, max: 30 }), (each, columns) => {
        const lines = wrap(each.join(' '), columns, ' ')
        expect(lines.filter((line) => widthOf(line) > columns)).toEqual([])
        expect(lines.join('').replaceAll(' ', '')).toBe(each.join(''))
      }),
    )
  })

  test('lines break where the whole rest of the text says so', () => {
    const unit = fc.constantFrom('a', 'b', ' ', '山', '👍', 'e\u0301', '\\', '-')
    fc.assert(
      fc.property(
        fc.string({ unit, maxLength: 300 }),
        fc.integer({ min: 1, max: 40 }),
        fc.nat({ max: 12 }),
        (text, columns, indent) => {
          const prefix = ' '.repeat(indent)
          expect(wrap(text, columns, prefix)).toEqual(wrapByTheRest(text, columns, prefix))
        },
      ),
    )
  })

  test('a character of many code units stays whole', () => {
    const family = '👨‍👩‍👧‍👦'
    for (const columns of [20, 21, 40, 80]) {
      const lines = wrap(family.repeat(100), columns)
      expect(lines.filter((line) => line.replaceAll(family, '') !== '' || widthOf(line) > columns)).toEqual(
        [],
      )
      expect(lines.join('')).toBe(family.repeat(100))
    }
  })

  test('a text of ten times the length is ten times the work to wrap', () => {
    const workOf = (length: number): number => {
      let work = 0
      const segment = vi.spyOn(Intl.Segmenter.prototype, 'segment')
      wrap(`é${String.raw`\u0007`.repeat(length)} ${'\u0301'.repeat(length)}`, 80, '    ')
      for (const [text] of segment.mock.calls) work += text.length
      segment.mockRestore()
      return work
    }
    expect(workOf(10_000) / workOf(1000)).toBeLessThan(11)
  })
})

/** Wraps as the words of its comment say, with no regard to how long it takes. */
function wrapByTheRest(text: string, columns: number, wantedIndent: string): string[] {
  const indent = wantedIndent.length < columns ? wantedIndent : ''
  const lines: string[] = []
  let rest = text
  while (widthOf(rest) > columns) {
    const { space, end } = breaksOf(rest, columns)
    const isAtSpace = space > indent.length && rest.slice(0, space).trim() !== ''
    const at = isAtSpace ? space : Math.max(end, indent.length + 1)
    lines.push(rest.slice(0, at).trimEnd())
    rest = indent + rest.slice(isAtSpace ? at + 1 : at)
  }
  return [...lines, rest]
}

/** Finds the last space before the width is exceeded, and the last place where it is not. */
function breaksOf(text: string, columns: number): { readonly space: number; readonly end: number } {
  let [at, width, space, end] = [0, 0, -1, 0]
  for (const { segment } of new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(text)) {
    if (width > columns) break
    if (segment === ' ') space = at
    at += segment.length
    width += widthOf(segment)
    if (width <= columns) end = at
  }
  return { space, end }
}

test.each([
  ['ex\u00adample', 'ex\\u00adample'],
  ['\u200bpaypal', '\\u200bpaypal'],
  ['\ufeffpaypal', '\\ufeffpaypal'],
  ['pay\u2060pal\u3164', 'pay\\u2060pal\\u3164'],
  ['a\u{e0041}\u{e007f}', 'a\\udb40\\udc41\\udb40\\udc7f'],
])('%j shows what nobody would see', (text, shown) => {
  expect(printable(text)).toBe(shown)
  // As an escape of JSON it means the same.
  expect(JSON.parse(printable(JSON.stringify(text)))).toBe(text)
})

test('joiners of scripts and emoji stay as they are', () => {
  for (const text of ['می\u200cخواهم', '👩\u200d💻', '❤\ufe0f', 'e\u0301', 'क\u094dष'])
    expect(printable(text)).toBe(text)
})
