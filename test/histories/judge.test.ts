import { describe, expect, test } from 'vitest'
import type { BoundAdmin } from '../../src/testing/contract/bound.ts'
import { createModel, show, type Model } from '../../src/testing/contract/model.ts'
import { hasOrder } from '../../src/testing/contract/order.ts'
import { license as makeLicense } from '../storage/support/license.ts'
import { judge, type HistoryCall } from './support/judge.ts'
import { portCall, type Method } from './support/port-call.ts'

const bytes = (number: number): Uint8Array => new Uint8Array(32).fill(number)
const license = makeLicense('A-1', { resellerId: 'reseller' })
const another = { ...license, licenseKey: 'A-2' }
const key = { resellerId: 'reseller', keyHash: bytes(7), requestHash: bytes(8), at: 1, expiresAt: 9000 }
const replayed = { replay: license.licenseKey, requestHash: bytes(8) }
const code = {
  clientId: 'client',
  subject: null,
  redirectUri: 'https://shop.example/',
  scope: '',
  codeChallenge: null,
  expiresAt: 9000,
  redeemedAt: null,
}
const owned = { ownerId: 'client', subject: null, scope: '', createdAt: 5, expiresAt: 9000 }
const token = { id: 'token', hash: bytes(3), ...owned }
const other = { id: 'other', hash: bytes(4), ...owned }
const client = { clientId: 'client', secretHashes: [], redirectUris: [], createdAt: 1, revokedAt: null }
const live = { id: 'token', ...owned, revokedAt: null }

const unknown = Symbol('unknown')
type Line = readonly [from: number, to: number, method: Method, args: readonly unknown[], answer: unknown]

function seen([from, to, method, args, answer]: Line): HistoryCall {
  const what = portCall(method, ...(args as Parameters<BoundAdmin[Method]>))
  return { ...what, from, to, answer: answer === unknown ? null : show(answer) }
}

const issued: Line = [1, 2, 'insertAuthorizationCode', [bytes(1), code], undefined]
const made: Line = [1, 2, 'insertLicense', [license], 'inserted']
const rename = (name: string, at: number): unknown[] => [
  { licenseKey: 'A-1', resellerId: 'reseller', patch: { registeredTo: name }, at },
]
const renamed = (name: string, at: number): object => ({ ...license, registeredTo: name, updatedAt: at })

describe('a history that no store could have is refused', () => {
  test.each<[string, ...Line[]]>([
    ['an acknowledged license is lost', made, [3, 4, 'findLicense', ['A-1'], null]],
    ['a license that was refused is there', [3, 4, 'findLicense', ['A-1'], license]],
    [
      'a license comes late and goes again',
      [1, 2, 'insertLicense', [license], unknown],
      [3, 4, 'findLicense', ['A-1'], license],
      [5, 6, 'findLicense', ['A-1'], null],
    ],
    [
      'a code is sold twice',
      issued,
      [3, 6, 'redeemAuthorizationCode', [bytes(1), 5, token], true],
      [4, 5, 'redeemAuthorizationCode', [bytes(1), 5, other], true],
    ],
    [
      'a code is sold again after an exchange without an answer, whose token lives',
      issued,
      [3, 4, 'redeemAuthorizationCode', [bytes(1), 5, token], unknown],
      [5, 6, 'redeemAuthorizationCode', [bytes(1), 6, other], true],
      [7, 8, 'findCredential', ['access_token', bytes(3)], live],
    ],
    [
      'a token without its code',
      issued,
      [3, 4, 'redeemAuthorizationCode', [bytes(1), 5, token], unknown],
      [5, 6, 'findCredential', ['access_token', bytes(3)], live],
      [7, 8, 'findAuthorizationCode', [bytes(1)], code],
    ],
    [
      'an idempotency key has two licenses',
      [1, 4, 'insertLicense', [license, key], 'inserted'],
      [2, 3, 'insertLicense', [another, key], 'inserted'],
    ],
    [
      'a repeat makes another license, though the first is there',
      [1, 2, 'insertLicense', [license, key], unknown],
      [3, 4, 'insertLicense', [another, key], 'inserted'],
      [5, 6, 'findLicense', ['A-1'], license],
    ],
    [
      'a replay of what is not there',
      [1, 2, 'insertLicense', [license, key], unknown],
      [3, 4, 'insertLicense', [another, key], replayed],
      [5, 6, 'findLicense', ['A-1'], null],
    ],
    [
      'a token lives on after its revocation',
      issued,
      [3, 4, 'redeemAuthorizationCode', [bytes(1), 5, token], true],
      [5, 6, 'revokeAccessTokensOfCode', [bytes(1), 7], 1],
      [7, 8, 'findCredential', ['access_token', bytes(3)], live],
    ],
    [
      'an update comes before one that was answered earlier',
      made,
      [3, 4, 'updateLicense', rename('Bo', 5), 'updated'],
      [5, 6, 'updateLicense', rename('Cy', 6), 'updated'],
      [7, 8, 'findLicense', ['A-1'], renamed('Bo', 5)],
    ],
    [
      'an update without an answer is done before it was asked',
      made,
      [3, 4, 'findLicense', ['A-1'], renamed('Bo', 5)],
      [5, 6, 'updateLicense', rename('Bo', 5), unknown],
    ],
    [
      'a revoked client gets a code',
      [1, 2, 'insertClient', [client], 'inserted'],
      [3, 4, 'revokeClient', ['client', 5], true],
      [5, 6, 'insertAuthorizationCode', [bytes(1), code], undefined],
    ],
    [
      'a purge takes what has not expired',
      made,
      [3, 4, 'purgeExpired', [5], { codes: 0, tokens: 0, idempotency: 0 }],
      [5, 6, 'findLicense', ['A-1'], null],
    ],
  ])('%s', (_, ...lines) => {
    const { wrong } = judge(lines.map(seen))
    expect(wrong).toHaveLength(1)
    expect(wrong[0]).toContain(lines.at(-1)?.[2])
  })
})

describe('what a store may do is accepted', () => {
  test.each<[string, ...Line[]]>([
    [
      'without an answer, done',
      [1, 2, 'insertLicense', [license, key], unknown],
      [3, 4, 'insertLicense', [another, key], replayed],
      [5, 6, 'findLicense', ['A-2'], null],
      [7, 8, 'findLicense', ['A-1'], license],
    ],
    [
      'without an answer, not done',
      [1, 2, 'insertLicense', [license, key], unknown],
      [3, 4, 'insertLicense', [another, key], 'inserted'],
      [5, 6, 'findLicense', ['A-1'], null],
    ],
    [
      'without an answer, done long afterwards',
      made,
      [3, 4, 'updateLicense', rename('Bo', 5), unknown],
      [5, 6, 'updateLicense', rename('Cy', 6), 'updated'],
      [7, 8, 'findLicense', ['A-1'], renamed('Cy', 6)],
      [9, 10, 'findLicense', ['A-1'], renamed('Bo', 5)],
    ],
    [
      'at once, in either order',
      made,
      [3, 6, 'updateLicense', rename('Bo', 5), 'updated'],
      [4, 5, 'updateLicense', rename('Cy', 6), 'updated'],
      [7, 8, 'findLicense', ['A-1'], renamed('Bo', 5)],
    ],
    [
      'a revocation of which only the first half was done',
      [1, 2, 'insertClient', [client], 'inserted'],
      [3, 4, 'insertAuthorizationCode', [bytes(1), code], undefined],
      [5, 6, 'revokeClient', ['client', 5], unknown],
      [7, 8, 'findClient', ['client'], { ...client, revokedAt: 5 }],
      [9, 10, 'findAuthorizationCode', [bytes(1)], code],
    ],
    [
      'a revocation without an answer whose first half had nothing to do',
      [3, 4, 'insertAuthorizationCode', [bytes(1), code], undefined],
      [5, 6, 'revokeClient', ['client', 5], unknown],
      [7, 8, 'findAuthorizationCode', [bytes(1)], null],
    ],
    [
      'a revocation of access without an answer, where there was no code',
      [1, 2, 'insertCredential', ['access_token', bytes(3), live], 'inserted'],
      [3, 4, 'revokeAccess', [{ clientId: 'client' }, 5], unknown],
      [5, 6, 'findCredential', ['access_token', bytes(3)], { ...live, revokedAt: 5 }],
    ],
    [
      'twenty updates at once, of which the last to be answered was the last',
      made,
      ...Array.from({ length: 20 }, (_, index): Line => [
        3,
        30 - index,
        'updateLicense',
        rename(`name ${index}`, 5),
        'updated',
      ]),
      [40, 41, 'findLicense', ['A-1'], renamed('name 0', 5)],
    ],
    [
      'twenty exchanges of a code, of which one wins',
      issued,
      ...Array.from({ length: 20 }, (_, index): Line => [
        3,
        4,
        'redeemAuthorizationCode',
        [bytes(1), 5, { ...token, id: `${index}`, hash: bytes(20 + index) }],
        index === 13,
      ]),
    ],
    [
      'twenty revocations at once, of which the one that wins is not the first to be answered',
      [1, 2, 'insertClient', [client], 'inserted'],
      ...Array.from({ length: 20 }, (_, index): Line => [
        3 + index,
        index < 10 ? 60 - index : 24 + index,
        'revokeClient',
        ['client', 100 + index],
        index === 13 ? unknown : index === 1,
      ]),
      [70, 71, 'findClient', ['client'], { ...client, revokedAt: 101 }],
    ],
  ])('%s', (_, ...lines) => {
    expect(judge(lines.map(seen))).toEqual({ wrong: [], right: 1, undecided: 0 })
  })
})

test('what has nothing in common is judged apart, and each mistake is told by itself', () => {
  const lines: Line[] = Array.from({ length: 40 }, (_, index) => [
    [1, 9, 'insertLicense', [{ ...license, licenseKey: `B-${index}` }], unknown] as Line,
    [
      10,
      11,
      'findLicense',
      [`B-${index}`],
      index % 10 === 0 ? { ...license, licenseKey: 'C' } : null,
    ] as Line,
  ]).flat()
  const { wrong, right } = judge(lines.map(seen))
  expect([wrong.length, right]).toEqual([4, 36])
})

test('a write that changes nothing where it could come first may be the one that counts', () => {
  const rotations = [2, 2, 3, 2].map((number): Line => [
    3,
    4,
    'rotateClientSecret',
    ['client', bytes(number)],
    true,
  ])
  const calls = [
    [1, 2, 'insertClient', [{ ...client, secretHashes: [bytes(1)] }], 'inserted'] as Line,
    ...rotations,
    [5, 6, 'findClient', ['client'], { ...client, secretHashes: [bytes(2), bytes(3)] }] as Line,
  ].map(seen)
  expect(hasOrder(createModel(), calls)).toBe(true)
})

test('a history with too many orders that are possible is undecided', () => {
  const hashes = Array.from({ length: 20 }, (_, index) => bytes(20 + index))
  const calls = [
    ...hashes.map((hash): Line => [1, 2, 'insertAuthorizationCode', [hash, code], undefined]),
    ...hashes.map((hash): Line => [3, 4, 'redeemAuthorizationCode', [hash, 5, { ...token, hash }], unknown]),
    [5, 6, 'findClient', ['client'], { ...client, revokedAt: 5 }] as Line,
  ].map(seen)
  let copies = 0
  const counting = (model: Model): Model => ({
    ...model,
    copy() {
      copies += 1
      return counting(model.copy())
    },
  })
  expect(hasOrder(counting(createModel()), calls, 50)).toBe('undecided')
  // Of each state, and of each left unseen on the way back: what each call would make of it.
  expect(copies).toBeLessThan(50 * calls.length)
  expect(judge(calls, 20)).toEqual({ wrong: [], right: 0, undecided: 1 })
})
