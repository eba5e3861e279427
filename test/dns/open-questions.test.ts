import { describe, expect, test } from 'vitest'
import { OpenQuestions, type OpenQuestion } from '../../src/dns/open-questions.ts'
import { encodeQuery, type EncodedQuery } from '../../src/dns/wire/encoded-query.ts'

class Question implements OpenQuestion<Question> {
  readonly encoded: EncodedQuery
  readonly tcpOnly: boolean
  earlier: Question | undefined

  constructor(encoded: EncodedQuery, tcpOnly = false) {
    this.encoded = encoded
    this.tcpOnly = tcpOnly
  }
}

/** A question whose hash is that of all others made here. */
function colliding(index: number): Question {
  return new Question({ ...encodeQuery(`${index}.example`, 'A'), hash: 7 })
}

describe('open questions', () => {
  test('are found by what they ask, however it is written', () => {
    const open = new OpenQuestions<Question>()
    const question = new Question(encodeQuery('example.com', 'A', { clientSubnet: '192.0.2.0/24' }))
    open.add(question)
    const same = encodeQuery('EXAMPLE.com.', 'A', { clientSubnet: '192.0.2.77/24' })
    expect(open.find(same, false)).toBe(question)
    expect(open.find(same, true)).toBeUndefined()
    for (const options of [{}, { clientSubnet: '192.0.3.0/24' }])
      expect(open.find(encodeQuery('example.com', 'A', options), false)).toBeUndefined()
  })

  test('are told apart by their messages when their hashes are equal', () => {
    const open = new OpenQuestions<Question>()
    const [first, second, absent] = [colliding(1), colliding(2), colliding(3)]
    open.add(first)
    open.add(second)
    expect(open.find(first.encoded, false)).toBe(first)
    expect(open.find(second.encoded, false)).toBe(second)
    expect(open.find(absent.encoded, false)).toBeUndefined()
  })

  test('are found by the latest of those that ask the same', () => {
    const open = new OpenQuestions<Question>()
    const [first, second] = [colliding(1), colliding(1)]
    open.add(first)
    open.add(second)
    expect(open.find(first.encoded, false)).toBe(second)
    open.remove(second)
    expect(open.find(first.encoded, false)).toBe(first)
  })

  test.each([
    [0, 1, 2],
    [1, 0, 2],
    [2, 1, 0],
    [1, 2, 0],
  ])('leave in any order (%i, %i, %i), and hold no other then', (...order) => {
    const open = new OpenQuestions<Question>()
    const questions = order.map((_, index) => colliding(index))
    for (const question of questions) open.add(question)
    const left = new Set(questions)
    for (const question of order.map((index) => questions[index]!)) {
      open.remove(question)
      left.delete(question)
      expect(question.earlier).toBeUndefined()
      for (const each of questions)
        expect(open.find(each.encoded, false)).toBe(left.has(each) ? each : undefined)
    }
  })
})
