import { expect } from 'vitest'
import type { License } from 'utility-api/storage'
import { hashSecret } from '../../src/domain/secret.ts'
import type { HistoryCounts } from '../histories/support/http-history.ts'
import { call } from '../storage/support/call.ts'
import { exchange, generate, type World } from './load.ts'

/** Rows of the first column of a query, asked of the database itself. */
export type Ask = (sql: string) => Promise<unknown>

async function allLicenses(world: World): Promise<License[]> {
  const licenses: License[] = []
  let after: string | undefined
  do {
    const page = await world.admin.listLicenses({ limit: 1000, ...(after === undefined ? {} : { after }) })
    licenses.push(...page.licenses)
    after = page.next
  } while (after !== undefined)
  return licenses
}

/** Everything that was answered with 200 is there. */
export async function verifyLedger(world: World): Promise<void> {
  const { licenses, maybe, tokens } = world.ledger
  const stored = new Map((await allLicenses(world)).map((each) => [each.licenseKey, each.registeredTo]))
  const lost = [...licenses].filter(([key, name]) => {
    const found = stored.get(key)
    return found !== name && found !== (maybe.get(key) ?? name)
  })
  expect(lost, 'acknowledged licenses and updates that are gone').toEqual([])
  for (const [code, token] of tokens) {
    const credential = await world.storage.findCredential('access_token', hashSecret(token), call)
    expect(credential?.revokedAt, 'an acknowledged token is there and live').toBe(null)
    const spent = await world.storage.findAuthorizationCode(hashSecret(code), call)
    expect(spent?.redeemedAt, 'its code is spent').toEqual(expect.any(Number))
  }
}

/** Spent codes and tokens come in pairs, whatever was answered or not. */
export async function verifyPairs(ask: Ask): Promise<void> {
  const spentWithoutToken = await ask(
    `SELECT count(*) AS count FROM utility_api_codes WHERE redeemed_at IS NOT NULL
       AND NOT EXISTS (SELECT 1 FROM utility_api_credentials WHERE hash = token_hash AND kind = 'access_token')`,
  )
  const tokenWithoutSpentCode = await ask(
    `SELECT count(*) AS count FROM utility_api_credentials WHERE kind = 'access_token' AND hash NOT IN (
       SELECT token_hash FROM utility_api_codes WHERE redeemed_at IS NOT NULL)`,
  )
  expect([Number(spentWithoutToken), Number(tokenWithoutSpentCode)]).toEqual([0, 0])
}

/** For each code, order and license, some order of all that was asked explains all that was answered and is stored. */
async function verifyHistory(world: World): Promise<HistoryCounts> {
  const licenses = (await allLicenses(world)).map((each) => ({
    ...each,
    orderedFor: each.registeredTo.replaceAll('+', ''),
  }))
  const { wrong, undecided, counts } = await world.ledger.history.judge({
    licenses,
    isLive: async (token) =>
      (await world.storage.findCredential('access_token', hashSecret(token), call))?.revokedAt === null,
  })
  expect(wrong).toEqual([])
  expect(undecided).toBe(0)
  return counts
}

/** What must happen where servers are killed, or nothing was shown. */
export function verifySeen({ ok, unknown, retryAfterUnknown }: HistoryCounts): void {
  expect(ok, 'answers').toBeGreaterThan(0)
  expect(unknown, 'requests without an answer').toBeGreaterThan(0)
  expect(retryAfterUnknown, 'orders that were repeated').toBeGreaterThan(0)
}

/**
 * Repeats what got no answer, and what did: a code is never spent twice, and a license never made twice. Returns what
 * happened in the whole history.
 */
export async function verifyRepeats(world: World, origin: string): Promise<HistoryCounts> {
  const { ledger } = world
  const retries = [...ledger.unanswered]
  for (let from = 0; from < retries.length; from += 50) {
    await Promise.all(retries.slice(from, from + 50).map((retry) => generate(world, origin, retry)))
  }
  expect([...ledger.unanswered], 'every repeat is answered').toEqual([])
  const names = (await allLicenses(world)).map((each) => each.registeredTo.replaceAll('+', ''))
  expect(names.length, 'one license for each order').toBe(new Set(names).size)
  for (const code of ledger.maybeSpent) {
    expect([200, 400]).toContain((await exchange(world, origin, code))?.status)
  }
  await verifyLedger(world)
  const counts = await verifyHistory(world)
  for (const code of ledger.tokens.keys()) {
    expect((await exchange(world, origin, code))?.status, 'a spent code buys nothing').toBe(400)
  }
  return counts
}
