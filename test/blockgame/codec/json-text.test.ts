import * as fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { parseGameJson } from '../../../src/blockgame/codec/json-text.ts'
import { parseStatus } from '../../../src/blockgame/codec/status.ts'

describe('control characters inside texts are read', () => {
  test.for([
    ['a line feed', '{"description":"a\nb"}', 'a\nb'],
    ['a tab', '{"description":"a\tb"}', 'ab'],
    ['a carriage return and a line feed', '{"description":"a\r\nb"}', 'a\nb'],
    ['NUL', '{"description":"a\u0000b"}', 'ab'],
    ['an escape sequence', '{"description":"a\u001b[31mb"}', 'a[31mb'],
    ['in a part', '{"description":{"text":"a","extra":["\n",{"text":"b\n"}]}}', 'a\nb\n'],
    ['in a key', '{"a\nb":1,"description":"x"}', 'x'],
    ['behind an escaped quote', '{"description":"a\\"\nb"}', 'a"\nb'],
    ['behind an escaped backslash', '{"description":"a\\\\\nb"}', 'a\\\nb'],
    ['behind a backslash of its own', '{"description":"a\\\nb"}', 'a\nb'],
    ['with white space between values', '{\n\t"description"\n:\t"a\nb"\r\n}\n', 'a\nb'],
    ['behind a byte order mark', '\ufeff{"description":"a\nb"}', 'a\nb'],
  ] as const)('%s', ([, json, description]) => {
    expect(parseStatus(json).description).toBe(description)
  })

  test('wherever they stand, they mean what they mean when escaped', () => {
    const text = fc.string({ unit: fc.constantFrom('a', '\n', '\t', '\u0000', '"', '\\', 'é', '🎮') })
    // V8 mistakes an escaped key for any earlier text's that ends at its first backslash (nodejs/node#63785). These begin
    // as no other text's do.
    const key = text.filter((each) => !each.includes('\\')).map((each) => `own ${each}`)
    fc.assert(
      fc.property(fc.dictionary(key, fc.oneof(text, fc.array(text))), (value) => {
        const raw = JSON.stringify(value, null, '\t')
          .replaceAll(/(?<!\\)((?:\\\\)*)\\n/g, '$1\n')
          .replaceAll(/(?<!\\)((?:\\\\)*)\\t/g, '$1\t')
          .replaceAll(/(?<!\\)((?:\\\\)*)\\u0000/g, '$1\u0000')
        expect(parseGameJson(raw)).toEqual(value)
      }),
    )
  })
})

test('nothing else is read that is no JSON', () => {
  for (const text of ["{'a':1}", '{"a":"\n}', '{"a":\u0001}', '"\\x\n"', '\n', '{"a":"\\u00\n1"}', '"\n\\'])
    expect(() => parseGameJson(text)).toThrow(SyntaxError)
})

test('more than a few thousand are refused, in one pass', () => {
  const parse = vi.spyOn(JSON, 'parse')
  try {
    expect(parseStatus(`{"description":"${'\n'.repeat(4096)}"}`).description).toBe('\n'.repeat(4096))
    expect(() => parseStatus(`{"description":"${'\n'.repeat(4097)}"}`)).toThrow(
      expect.objectContaining({ reason: 'protocol' }),
    )
    expect(parse).toHaveBeenCalledTimes(4)
  } finally {
    parse.mockRestore()
  }
})
