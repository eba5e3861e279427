import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bodyParserFor } from '../../src/http/body-parser.ts'

const numRuns = Number(process.env['PROPERTY_RUNS'] ?? 2000)
const known = ['code', 'client_id', '__proto__', 'a"b']

const parse = bodyParserFor({
  method: 'POST',
  url: '/',
  header: (name) => (name === 'Content-Type' ? 'application/json' : null),
  body: () => Promise.reject(new Error('not read')),
})

/** The name that is refused, or null. */
function refusedName(json: string): string | null {
  try {
    parse(Buffer.from(json), known)
    return null
  } catch (error) {
    return /^(.*) must be sent once\.$/s.exec((error as Error).message)?.[1] ?? 'another error'
  }
}

/** A name, and how JSON writes it where some of its characters are escaped. */
const written = (names: fc.Arbitrary<string>): fc.Arbitrary<{ name: string; text: string }> =>
  fc
    .tuple(names, fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }))
    .map(([name, escapes]) => ({ name, text: `"${name.replaceAll(/[^]/g, escapeSome(escapes))}"` }))

function escapeSome(escapes: readonly boolean[]): (unit: string, index: number) => string {
  return (unit, index) =>
    escapes[index % escapes.length]
      ? `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
      : JSON.stringify(unit).slice(1, -1)
}

const names = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...known) },
  { weight: 1, arbitrary: fc.constantFrom('', '\\', '"', ':', '{', 'other', '0', 'constructor') },
  { weight: 1, arbitrary: fc.string({ maxLength: 6 }) },
)
const space = fc.constantFrom('', ' ', '\n\t')
const values = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.stringify(value)),
  fc.constantFrom('"\\\\"', '"\\""', '"\\\\\\""', '{"code":1,"code":2}', '[{"code":1},{"code":1}]', '":"'),
)
const members = fc.array(fc.tuple(written(names), values, space), { maxLength: 6 })

test('a known member that occurs twice is refused, however it is written and whatever surrounds it', () => {
  fc.assert(
    fc.property(members, space, (body, between) => {
      const json = `{${body.map(([{ text }, value, gap]) => `${gap}${text}${between}:${gap}${value}`).join(',')}}`
      const sent = body.map(([{ name }]) => name)
      const repeated = known.find((name) => sent.filter((each) => each === name).length > 1)
      expect(refusedName(json), json).toBe(repeated ?? null)
    }),
    { numRuns },
  )
})

test.each([
  ['{"code":1,"code":1}', 'code'],
  [String.raw`{"code":1,"\u0063ode":1}`, 'code'],
  [String.raw`{"x":"\\","code":1,"code":2}`, 'code'],
  [String.raw`{"x":"\\\"","code":1,"code":2}`, 'code'],
  ['{"__proto__":1,"__proto__":2}', '__proto__'],
  ['{"other":1,"other":2,"code":1}', null],
  ['{"other":{"code":1,"code":2},"code":1}', null],
  ['{"other":"\\",\\"code\\":","code":1}', null],
  ['{"__proto__":{"a":1},"1":1,"0":2}', null],
  ['{}', null],
])('%s', (json, name) => {
  expect(refusedName(json)).toBe(name)
})

test('what every object inherits is no member of a body', () => {
  const body = parse(Buffer.from('{"__proto__":{"code":1},"toString":2}'), known)
  expect(body.get('code')).toBeUndefined()
  expect(body.get('constructor')).toBeUndefined()
  expect(body.get('toString')).toBe(2)
})
