/** What a body may cost to parse, counted before it is parsed. */
import { expect, test, vi } from 'vitest'
import { bodyParserFor } from '../../src/http/body-parser.ts'

const parserOf = (type: string) =>
  bodyParserFor({
    method: 'POST',
    url: '/',
    header: (name) => (name === 'Content-Type' ? type : null),
    body: () => Promise.reject(new Error('not read')),
  })
const parse = parserOf('application/json')
const tooMany = expect.objectContaining({
  code: 'invalid_request',
  message: 'The body has more than 1000 members.',
})
const tooDeep = expect.objectContaining({
  code: 'invalid_request',
  message: 'The body is nested more than 32 levels deep.',
})

test.each([
  ['one name', `{${'"a":1,'.repeat(1000)}"b":1}`],
  ['a known name', `{${'"code":1,'.repeat(1000)}"b":1}`],
  ['names of their own', `{${Array.from({ length: 1001 }, (_, index) => `"${index}":1`).join(',')}}`],
  ['objects in a list', `{"x":[${'{"a":1},'.repeat(1000)}1]}`],
  ['no end', '{"a":'.repeat(1001)],
])('JSON with more than a thousand members is refused unparsed: %s', (_, json) => {
  const parsed = vi.spyOn(JSON, 'parse')
  expect(() => parse(Buffer.from(json), ['code'])).toThrow(tooMany)
  expect(parsed).not.toHaveBeenCalled()
  parsed.mockRestore()
})

test('JSON with a thousand members is read, and colons in texts are none', () => {
  const members = Array.from({ length: 1000 }, (_, index) => `"${index}":"${'a:'.repeat(10)}"`)
  expect(parse(Buffer.from(`{${members.join(',')}}`), []).get('999')).toBe('a:'.repeat(10))
})

test.each([
  ['lists', '[', ']'],
  ['objects', '{"a":', '}'],
])('JSON is read up to 32 levels deep, and refused unparsed beyond that: %s', (_, open, close) => {
  const nested = (levels: number) => Buffer.from(`{"a":${open.repeat(levels)}1${close.repeat(levels)}}`)
  expect(parse(nested(31), []).get('a')).toBeDefined()
  const parsed = vi.spyOn(JSON, 'parse')
  expect(() => parse(nested(32), [])).toThrow(tooDeep)
  expect(parsed).not.toHaveBeenCalled()
  parsed.mockRestore()
})

test('a form with more than a thousand members is refused', () => {
  expect(() => parserOf('application/x-www-form-urlencoded')(Buffer.from('a&'.repeat(1000)), [])).toThrow(
    tooMany,
  )
})
