/** Two servers on one store, whose clocks are five minutes apart: each goes by its own, so the slower one sees every end last. */
import { createAdmin, createUtilityApi, type Admin, type UtilityApi } from 'utility-api'
import { fixedClock } from 'utility-api/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { chosenPairs, runCleanUp, whyNoPair, type CleanUp } from '../storage/support/pairs.ts'
import type { Grantee } from './support/grant.ts'
import { exchange } from './support/token-request.ts'
import { redirectUri } from './support/world.ts'

const [apart, codeEnds, tokenEnds] = [300_000, 60_000, 3_600_000]
const clocks = { slow: fixedClock(), fast: fixedClock(fixedClock().now() + apart) }
const names = ['slow', 'fast'] as const
type Name = (typeof names)[number]

describe.each(chosenPairs)('on %s', (kind, open) => {
  const missing = whyNoPair(kind)
  if (missing !== null) return test(missing, ({ skip }) => skip(missing))
  const cleanUp: CleanUp = []
  const apis = {} as Record<Name, UtilityApi>
  const admins = {} as Record<Name, Admin>
  let client: Grantee

  beforeAll(async () => {
    const stores = await open(cleanUp)
    for (const [index, name] of names.entries()) {
      const parts = { storage: stores[index as 0 | 1], clock: clocks[name] }
      apis[name] = createUtilityApi({ ...parts, dns: false, blockgame: false })
      admins[name] = createAdmin(parts)
    }
    client = await admins.slow.createClient({ redirectUris: [redirectUri] })
  }, 60_000)
  afterAll(() => runCleanUp(cleanUp), 60_000)

  async function issueOn(name: Name): Promise<string> {
    const request = { clientId: client.clientId, redirectUri, scope: 'a' }
    return (await admins[name].issueAuthorizationCode(request)).code
  }
  const buyOn = (name: Name, code: string): Promise<string | null> => exchange(apis[name], client, code)

  /** The servers on which a token is good. */
  async function whereLive(token: string | null): Promise<Name[]> {
    const isLive = names.map((name) => apis[name].verifyAccessToken(token ?? '').then(Boolean, () => false))
    const live = await Promise.all(isLive)
    return names.filter((_, index) => live[index])
  }
  /** Lets time pass, and says how to let more pass, until so long after now. */
  function startTime(): (after: number) => void {
    const start = clocks.slow.now()
    return (after) => {
      const milliseconds = start + after - clocks.slow.now()
      for (const name of names) clocks[name].advance(milliseconds)
    }
  }

  test('no server takes a code once the slower clock has passed its end, and both see a replay', async () => {
    const passUntil = startTime()
    const tries = []
    for (const after of [0, codeEnds - 1, codeEnds, codeEnds + apart - 1, codeEnds + apart])
      for (const issuer of names)
        for (const taker of names) tries.push({ after, issuer, taker, code: await issueOn(issuer) })
    const taken: Record<string, boolean[]> = {}
    const bought = []
    for (const { after, issuer, taker, code } of tries) {
      passUntil(after)
      const token = await buyOn(taker, code)
      ;(taken[`${issuer}, ${taker}`] ??= []).push(token !== null)
      if (token !== null) bought.push({ code, token, other: taker === 'slow' ? 'fast' : 'slow' } as const)
    }
    expect(taken).toEqual({
      'slow, slow': [true, true, false, false, false],
      'slow, fast': [false, false, false, false, false],
      'fast, slow': [true, true, true, true, false],
      'fast, fast': [true, true, false, false, false],
    })
    for (const { code, token, other } of bought) {
      expect(await whereLive(token)).toEqual(names)
      expect(await buyOn(other, code)).toBeNull()
      expect(await whereLive(token)).toEqual([])
    }
  })

  test('a token is good on a server until the clock of that one has passed its end', async () => {
    const passUntil = startTime()
    const tokens = [await buyOn('slow', await issueOn('slow')), await buyOn('fast', await issueOn('fast'))]
    const live = []
    for (const after of [
      tokenEnds - apart - 1,
      tokenEnds - apart,
      tokenEnds - 1,
      tokenEnds,
      tokenEnds + apart,
    ]) {
      passUntil(after)
      live.push(await Promise.all(tokens.map(whereLive)))
    }
    expect(live).toEqual([
      [names, names],
      [['slow'], names],
      [['slow'], names],
      [[], ['slow']],
      [[], []],
    ])
  })

  test('a purge by the faster clock ends what the slower still takes, and forgets no token that lives', async () => {
    const passUntil = startTime()
    const [unspent, replayed, spent] = [await issueOn('fast'), await issueOn('fast'), await issueOn('fast')]
    const [revoked, token] = [await buyOn('slow', replayed), await buyOn('slow', spent)]
    passUntil(codeEnds)
    expect((await admins.fast.purgeExpired()).codes).toBeGreaterThan(0)
    expect(await buyOn('slow', unspent)).toBeNull()
    expect(await buyOn('slow', replayed)).toBeNull()
    expect(await whereLive(revoked)).toEqual([])
    passUntil(tokenEnds - apart)
    expect(await whereLive(token)).toEqual(['slow'])
    await admins.fast.purgeExpired()
    expect(await whereLive(token)).toEqual([])
  })
})
