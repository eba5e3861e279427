import { expect, test } from 'vitest'
import { HttpHistory, type Seen, type StoredLicense } from './support/http-history.ts'

/** A request from one time to another with this status. */
const seen = (askedAt: number, until: number, status: number): Seen => ({
  status,
  askedAt,
  tookMs: until - askedAt,
})

const stored = (licenseKey: string, registeredTo: string): StoredLicense => ({
  licenseKey,
  registeredTo,
  domainOrIp: 'a.example',
})

type Plan = (history: HttpHistory) => void

async function wrongOf(
  plan: Plan,
  licenses: readonly StoredLicense[],
  live: readonly string[],
): Promise<number> {
  const history = new HttpHistory()
  plan(history)
  const { wrong } = await history.judge({ licenses, isLive: async (token) => live.includes(token) })
  return wrong.length
}

const bought: Plan = (history) => {
  history.exchanged('code', seen(1, 4, 200), 'token')
  history.exchanged('code', seen(2, 3, 400))
}
const ordered: Plan = (history) => {
  history.ordered('Ada', 'key', seen(1, 2, 500))
  history.ordered('Ada', 'key', seen(3, 4, 200), 'A-1')
  history.ordered('Ada', 'key', seen(5, 6, 200), 'A-1')
}
const updated: Plan = (history) => {
  history.updated('A-1', 'registeredTo', 'value 0', 'value 1', seen(1, 2, 200))
  history.updated('A-1', 'registeredTo', 'value 0', 'value 2', seen(3, 4, 0))
}

test.each<[string, Plan, readonly StoredLicense[], readonly string[]]>([
  ['a code bought once', bought, [], ['token']],
  [
    'a code that an exchange without an answer has spent',
    (history) => {
      history.exchanged('code', seen(1, 2, 0))
      history.exchanged('code', seen(3, 4, 400))
    },
    [],
    [],
  ],
  [
    'a refusal at the door, and then the code is bought',
    (history) => {
      history.exchanged('code', seen(1, 2, 503))
      history.exchanged('code', seen(3, 4, 200), 'token')
    },
    [],
    ['token'],
  ],
  ['an order repeated', ordered, [stored('A-1', 'Ada')], []],
  [
    'an order that nobody heard of, made',
    (history) => history.ordered('Bo', 'key', seen(1, 2, 0)),
    [stored('A-2', 'Bo')],
    [],
  ],
  [
    'an order that nobody heard of, not made',
    (history) => history.ordered('Bo', 'key', seen(1, 2, 0)),
    [],
    [],
  ],
  ['the last update without an answer, done', updated, [stored('A-1', 'value 2')], []],
  ['the last update without an answer, not done', updated, [stored('A-1', 'value 1')], []],
])('%s: right', async (_, plan, licenses, live) => {
  expect(await wrongOf(plan, licenses, live)).toBe(0)
})

test.each<[string, Plan, readonly StoredLicense[], readonly string[]]>([
  ['a token that was handed out is gone', bought, [], []],
  [
    'a code is bought twice',
    (history) => {
      bought(history)
      history.exchanged('code', seen(5, 6, 200), 'another')
    },
    [],
    ['token', 'another'],
  ],
  ['a code that nobody bought is spent', (history) => history.exchanged('code', seen(1, 2, 400)), [], []],
  [
    'a code was spent before the only exchange that could have was asked',
    (history) => {
      history.exchanged('code', seen(1, 2, 400))
      history.exchanged('code', seen(3, 4, 0))
    },
    [],
    [],
  ],
  ['a license that was answered is gone', ordered, [], []],
  ['an order is made twice', ordered, [stored('A-1', 'Ada'), stored('A-2', 'Ada')], []],
  [
    'a repeat is answered with another license',
    (history) => {
      ordered(history)
      history.ordered('Ada', 'key', seen(7, 8, 200), 'A-2')
    },
    [stored('A-1', 'Ada')],
    [],
  ],
  [
    'a refused order is made',
    (history) => history.ordered('Bo', 'key', seen(1, 2, 503)),
    [stored('A-2', 'Bo')],
    [],
  ],
  ['an acknowledged update is lost', updated, [stored('A-1', 'value 0')], []],
  [
    'an update is refused for no reason',
    (history) => {
      updated(history)
      history.updated('A-1', 'registeredTo', 'value 0', 'value 3', seen(5, 6, 404))
    },
    [stored('A-1', 'value 1')],
    [],
  ],
])('%s: wrong', async (_, plan, licenses, live) => {
  expect(await wrongOf(plan, licenses, live)).toBe(1)
})

test('a refusal by a clock that jumps says nothing of the code', async () => {
  const history = new HttpHistory({ codesExpire: true })
  history.exchanged('code', seen(1, 2, 400))
  history.exchanged('code', seen(3, 4, 200), 'token')
  expect(await history.judge({ licenses: [], isLive: async () => true })).toMatchObject({
    wrong: [],
    right: 1,
  })
})

test('what must happen is counted', async () => {
  const history = new HttpHistory()
  bought(history)
  ordered(history)
  const { counts } = await history.judge({ licenses: [stored('A-1', 'Ada')], isLive: async () => true })
  expect(counts).toEqual({ ok: 4, unknown: 1, raceLost: 1, replaySeen: 1, retryAfterUnknown: 1 })
})
