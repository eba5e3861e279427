/** Member names with escapes, which V8 mistakes for names of earlier texts (nodejs/node#63785). */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bodyParserFor } from '../../src/http/body-parser.ts'
import type { BodyMembers } from '../../src/security/scheme.ts'

const parser = bodyParserFor({
  method: 'POST',
  url: '/',
  header: (name) => (name === 'Content-Type' ? 'application/json' : null),
  body: () => Promise.reject(new Error('not read')),
})
const parse = (json: string): BodyMembers => parser(Buffer.from(json), ['code'])

test('a body of somebody else does not change how an escaped name is read', () => {
  for (let count = 0; count < 3; count += 1) parse(String.raw`{"first":1,"c\\u0":2}`)
  expect(parse(String.raw`{"first":1,"c\u006fde":"abc"}`).get('code')).toBe('abc')
})

test('values stay as they were sent, whatever is in them', () => {
  fc.assert(
    fc.property(
      fc.string(),
      fc.array(fc.constantFrom('"', '\\', ':', ',', '{', 'a', '\n', 'é', '\ud83d')),
      (one, other) => {
        const sent = {
          a: one,
          '": ': { code: other.join('') },
          code: other.join(''),
          list: [other.join(''), one],
        }
        const members = parse(JSON.stringify(sent))
        for (const [name, value] of Object.entries(sent)) expect(members.get(name)).toEqual(value)
      },
    ),
  )
})
