import fc from 'fast-check'
import { expect, test } from 'vitest'
import { codePoint } from '../support/code-point.ts'
import { jsonArray, jsonBody, octetsOf, SharedAnswer } from '../../src/bounds/shared-answer.ts'

const textOf = (body: string | Uint8Array): string => Buffer.from(body as string).toString()

test('the JSON of an array is that of its elements, whether they are kept as text or as octets', () => {
  const long = fc.string({ unit: codePoint, minLength: 1, maxLength: 2 }).map((text) => text.repeat(17_000))
  const element = fc.oneof(fc.jsonValue(), fc.constant('é'), long)
  fc.assert(
    fc.property(fc.array(element, { maxLength: 4 }), (elements) => {
      const body = jsonArray(elements.map((each) => jsonBody(JSON.stringify(each))))
      const json = JSON.stringify(elements)
      expect(textOf(body)).toBe(json)
      expect(octetsOf(body)).toBe(Buffer.byteLength(json))
      expect(new SharedAnswer(body).value()).toEqual(JSON.parse(json))
    }),
    { numRuns: 100 },
  )
})

test('a long body is kept as octets, and a short one as text', () => {
  expect(jsonBody('x'.repeat(16 * 1024))).toBeTypeOf('string')
  expect(jsonBody('x'.repeat(16 * 1024 + 1))).toBeInstanceOf(Uint8Array)
  expect(jsonArray(['1', '2'])).toBe('[1,2]')
})

test('each caller gets a result of its own', () => {
  const answer = new SharedAnswer<{ list: number[] }>('{"list":[1]}')
  answer.value().list.push(2)
  expect(answer.value()).toEqual({ list: [1] })
})
