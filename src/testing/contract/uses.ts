import type { BoundListing } from './bound.ts'
import {
  equalValues,
  fill,
  hashOf,
  inTurn,
  makeCredential,
  makeReseller,
  nameOf,
  raceOverTurns,
  type ContractCase,
} from './context.ts'

const day = 86_400_000

/** Returns the days of the last uses, by id. */
async function lastUses(
  listing: BoundListing,
  kind: 'access_token' | 'reseller_token' | 'api_key',
): Promise<Readonly<Record<string, number | null>>> {
  const { credentials } = await listing.credentials({ kind, limit: 1000 })
  return Object.fromEntries(credentials.map(({ id, lastUsedOn }) => [id, lastUsedOn]))
}

export const useCases: readonly ContractCase[] = [
  {
    name: 'the day of the last use is listed, of exactly the credentials that were used, or a live key is revoked',
    needs: ['admin', 'listing', 'recordUse'],
    async run({ admin, listing, recordUse }) {
      await admin.insertReseller(makeReseller())
      await inTurn(['used', 'USED', 'unused'].entries(), async ([index, name]) => {
        await admin.insertCredential('api_key', hashOf(index), makeCredential(nameOf(name)))
        await admin.insertCredential('reseller_token', hashOf(index), makeCredential(nameOf(`token-${name}`)))
      })
      await admin.insertCredential('access_token', hashOf(9), makeCredential(nameOf('access')))
      await recordUse(
        'api_key',
        [nameOf('used'), nameOf('nobody'), nameOf('token-unused'), nameOf('access')],
        5 * day,
      )
      await recordUse('reseller_token', [nameOf('token-used'), nameOf('unused')], 20_000 * day)
      await recordUse('api_key', [], 9 * day)
      const keys = { [nameOf('used')]: 5 * day, [nameOf('USED')]: null, [nameOf('unused')]: null }
      equalValues(await lastUses(listing, 'api_key'), keys)
      const tokens = {
        [nameOf('token-used')]: 20_000 * day,
        [nameOf('token-USED')]: null,
        [nameOf('token-unused')]: null,
      }
      equalValues(await lastUses(listing, 'reseller_token'), tokens)
      equalValues(await lastUses(listing, 'access_token'), { [nameOf('access')]: null })
      equalValues(await admin.findCredential('api_key', hashOf(0)), makeCredential(nameOf('used')))
    },
  },
  {
    name: 'a use that is reported late lowers no time, or a key that is in use looks forgotten',
    needs: ['admin', 'listing', 'recordUse'],
    async run({ admin, listing, recordUse }) {
      await admin.insertCredential('api_key', hashOf(1), makeCredential(nameOf('key')))
      await inTurn([3, 5, 4, 5, 0], (at) => recordUse('api_key', [nameOf('key')], at * day))
      equalValues(await lastUses(listing, 'api_key'), { [nameOf('key')]: 5 * day })
      await admin.revokeCredential({ id: nameOf('key') }, 5)
      await recordUse('api_key', [nameOf('key')], 6 * day)
      equalValues(await lastUses(listing, 'api_key'), { [nameOf('key')]: 6 * day })
      equalValues(
        await admin.findCredential('api_key', hashOf(1)),
        makeCredential(nameOf('key'), { revokedAt: 5 }),
      )
    },
  },
  {
    name: 'servers that report the same five hundred keys at once leave the latest day, or the order of arrival decides',
    needs: ['admin', 'listing', 'recordUse'],
    async run({ admin, listing, recordUse }) {
      const ids = Array.from({ length: 500 }, (_, index) => nameOf(`key-${index}`))
      await fill(500, (index) =>
        admin.insertCredential('api_key', hashOf(index), makeCredential(ids[index] ?? '')),
      )
      await raceOverTurns(10, (index) =>
        recordUse('api_key', index % 2 === 0 ? ids : ids.toReversed(), (10 - index) * day),
      )
      const wanted = Object.fromEntries(ids.map((id) => [id, 10 * day]))
      equalValues(await lastUses(listing, 'api_key'), wanted)
    },
  },
]
