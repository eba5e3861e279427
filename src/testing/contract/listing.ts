import { ok, strictEqual } from 'node:assert/strict'
import { credentialKinds } from '../../domain/credentials.ts'
import { hashSecret } from '../../domain/secret.ts'
import type { MaybePromise } from '../../domain/maybe-promise.ts'
import type { BoundAdmin, BoundListing } from './bound.ts'
import {
  equalValues,
  fill,
  hashOf,
  inTurn,
  makeClient,
  makeCredential,
  makeLicense,
  makeReseller,
  nameOf,
  race,
  rejectsAs,
  type ContractCase,
} from './context.ts'

interface Page {
  readonly after?: string
  readonly limit: number
}

/** A list as a case reads it: the names of its rows. */
type NameList = (page: Page) => Promise<{ readonly names: string[]; readonly next?: string }>

/** Follows `next` to the end; `between` runs after every page. */
async function allNames(
  list: NameList,
  page: Page,
  between?: (pageNumber: number) => Promise<unknown>,
  pageNumber = 1,
): Promise<string[]> {
  ok(pageNumber < 200, 'paging must end')
  const { names, next } = await list(page)
  ok(names.length <= page.limit, 'a page holds `limit` rows at most')
  await between?.(pageNumber)
  if (next === undefined) return names
  return [...names, ...(await allNames(list, { ...page, after: next }, between, pageNumber + 1))]
}

/** Counts the rows of a list in the largest pages that are asked for. Each must come once. */
async function countAll(list: NameList): Promise<number> {
  const names = await allNames(list, { limit: 1000 })
  strictEqual(new Set(names).size, names.length, 'no row is listed twice')
  return names.length
}

/** A kind of row that is listed, and how to insert one. */
interface Listed {
  readonly what: string
  readonly list: (listing: BoundListing) => NameList
  readonly insert: (admin: BoundAdmin, name: string, createdAt: number) => MaybePromise<unknown>
}

const licenses: Listed = {
  what: 'licenses',
  list: (listing) => async (page) => {
    const { licenses: rows, ...next } = await listing.licenses(page)
    return { names: rows.map(({ licenseKey }) => licenseKey), ...next }
  },
  insert: (admin, name, createdAt) => admin.insertLicense(makeLicense(name, { createdAt })),
}

const clients: Listed = {
  what: 'clients',
  list: (listing) => async (page) => {
    const { clients: rows, ...next } = await listing.clients(page)
    return { names: rows.map(({ clientId }) => clientId), ...next }
  },
  insert: (admin, clientId, createdAt) => admin.insertClient(makeClient({ clientId, createdAt })),
}

const resellers: Listed = {
  what: 'resellers',
  list: (listing) => async (page) => {
    const { resellers: rows, ...next } = await listing.resellers(page)
    return { names: rows.map(({ resellerId }) => resellerId), ...next }
  },
  insert: (admin, resellerId, createdAt) => admin.insertReseller(makeReseller({ resellerId, createdAt })),
}

function credentials(kind: 'access_token' | 'reseller_token' | 'api_key', ownerId?: string): Listed {
  return {
    what: `${kind}s${ownerId === undefined ? '' : ' of one owner'}`,
    list: (listing) => async (page) => {
      const owner = ownerId === undefined ? {} : { ownerId: nameOf(ownerId) }
      const { credentials: rows, ...next } = await listing.credentials({ ...page, kind, ...owner })
      return { names: rows.map(({ id }) => id), ...next }
    },
    insert: (admin, id, createdAt) => {
      const owner = ownerId === undefined ? {} : { ownerId: nameOf(ownerId) }
      return admin.insertCredential(kind, hashSecret(id), makeCredential(id, { createdAt, ...owner }))
    },
  }
}

const allListed = [
  licenses,
  clients,
  resellers,
  credentials('access_token'),
  credentials('reseller_token'),
  credentials('api_key'),
  credentials('access_token', 'shop'),
  credentials('api_key', 'shop'),
]

function namesOf(count: number, prefix = 'key'): string[] {
  // The names sort in reverse order of creation, so that paging by name would reverse the list.
  return Array.from({ length: count }, (_, index) => nameOf(`${prefix}-${String(9000 - index)}`))
}

/** Inserts rows, each a millisecond younger than the one before. */
function insertAll(
  { insert }: Listed,
  admin: BoundAdmin,
  names: readonly string[],
  from: number,
): Promise<void> {
  return inTurn(names.entries(), ([index, name]) => insert(admin, name, from + index))
}

/** Inserts a row of each kind with every text as long as it may be. */
async function insertLongest(admin: BoundAdmin, last: string): Promise<void> {
  const [id, name] = [`${'~'.repeat(254)}${last}`, '\u{1F600}'.repeat(255)]
  const redirectUris = Array.from({ length: 10 }, () => `app:/${'p'.repeat(2043)}`)
  await admin.insertClient(makeClient({ clientId: id, name, redirectUris }))
  await admin.insertReseller(makeReseller({ resellerId: id, name }))
  const fields = { ownerId: id, subject: id, scope: 's'.repeat(1024), name }
  await admin.insertCredential('api_key', hashSecret(last), makeCredential(id, fields))
  const texts = { registeredTo: name, domainOrIp: name, status: name, resellerId: id }
  await admin.insertLicense(makeLicense(`${'k'.repeat(127)}${last}`, texts))
}

const orderCases = allListed.map((listed): ContractCase => ({
  name: `${listed.what} are listed oldest first, page by page, while others come, or an export has gaps`,
  needs: ['admin', 'listing'],
  async run({ admin, listing }) {
    await admin.insertReseller(makeReseller({ createdAt: 0 }))
    const names = namesOf(20)
    await insertAll(listed, admin, names, 1)
    const list = listed.list(listing)
    const wanted = (all: string[]): string[] => all.filter((name) => names.includes(name))
    const seen = await allNames(list, { limit: 3 }, async (pageNumber) => {
      if (pageNumber <= 5) await insertAll(listed, admin, namesOf(2, `${pageNumber}`), 100 * pageNumber)
    })
    equalValues(wanted(seen), names)
    strictEqual(new Set(seen).size, seen.length, 'no row is listed twice')
  },
}))

const oneTimeCases = allListed.map((listed): ContractCase => ({
  name: `${listed.what} of one millisecond are all listed once, or some are never seen`,
  needs: ['admin', 'listing'],
  async run({ admin, listing }) {
    await admin.insertReseller(makeReseller())
    const names = namesOf(25)
    await inTurn(names, (name) => listed.insert(admin, name, 1000))
    const seen = await allNames(listed.list(listing), { limit: 4 })
    equalValues(seen.filter((name) => names.includes(name)).toSorted(), names.toSorted())
    strictEqual(new Set(seen).size, seen.length, 'no row is listed twice')
  },
}))

export const listingCases: readonly ContractCase[] = [
  ...orderCases,
  ...oneTimeCases,
  {
    name: 'licenses of one millisecond are listed in the order of insertion, or a report shuffles them',
    needs: ['admin', 'listing'],
    async run({ admin, listing }) {
      await inTurn(namesOf(25), (name) => admin.insertLicense(makeLicense(name)))
      equalValues(await allNames(licenses.list(listing), { limit: 4 }), namesOf(25))
    },
  },
  {
    name: 'the last page has no next mark, full or not, or a listing never ends',
    needs: ['admin', 'listing'],
    async run({ admin, listing }) {
      equalValues(await listing.licenses({ limit: 5 }), { licenses: [] })
      await inTurn(allListed, async (listed) => {
        const list = listed.list(listing)
        const before = (await list({ limit: 100 })).names.length
        await admin.insertReseller(makeReseller())
        await insertAll(listed, admin, namesOf(5, listed.what.replaceAll(' ', '-')), 2000)
        const { names, next } = await list({ limit: 100 })
        ok(names.length >= before + 5)
        strictEqual(next, undefined)
        strictEqual((await list({ limit: names.length })).next, undefined)
        strictEqual((await list({ limit: names.length - 1 })).names.length, names.length - 1)
      })
    },
  },
  {
    name: 'three hundred licenses are listed once each while others are deleted, or an export has gaps',
    needs: ['admin', 'listing'],
    async run({ admin, listing }) {
      const names = namesOf(300)
      await fill(300, (index) => admin.insertLicense(makeLicense(names[index] ?? '')))
      const doomed = names.filter((_, index) => index % 3 === 0)
      const seen = await allNames(licenses.list(listing), { limit: 17 }, () =>
        race(10, () => admin.deleteLicense(doomed.pop() ?? '')),
      )
      const kept = names.filter((_, index) => index % 3 !== 0)
      equalValues(seen.filter((name) => kept.includes(name)).toSorted(), kept.toSorted())
      strictEqual(new Set(seen).size, seen.length, 'no row is listed twice')
    },
  },
  {
    name: 'three hundred access tokens are listed once each while others are purged, or an export has gaps',
    needs: ['admin', 'listing'],
    async run({ admin, listing }) {
      const names = namesOf(300)
      await fill(300, (index) => {
        const expiresAt = index % 3 === 0 ? index : null
        const token = makeCredential(names[index] ?? '', { expiresAt })
        return admin.insertCredential('access_token', hashOf(index), token)
      })
      const list = credentials('access_token').list(listing)
      const seen = await allNames(list, { limit: 17 }, (pageNumber) =>
        race(1, () => admin.purgeExpired(20 * pageNumber)),
      )
      const kept = names.filter((_, index) => index % 3 !== 0)
      equalValues(seen.filter((name) => kept.includes(name)).toSorted(), kept.toSorted())
      strictEqual(new Set(seen).size, seen.length, 'no row is listed twice')
    },
  },
  {
    name: 'a list goes on after the rows of a page are deleted, its last row too, or an export ends early',
    needs: ['admin', 'listing'],
    async run({ admin, listing }) {
      const names = namesOf(12)
      await inTurn(names.entries(), async ([index, name]) => {
        await admin.insertLicense(makeLicense(name))
        const token = makeCredential(name, { createdAt: index, expiresAt: index })
        await admin.insertCredential('access_token', hashSecret(name), token)
      })
      const deleteFour = (page: number): Promise<unknown> =>
        inTurn(names.slice(4 * page - 4, 4 * page), (name) => admin.deleteLicense(name))
      equalValues(await allNames(licenses.list(listing), { limit: 4 }, deleteFour), names)
      const purgeFour = async (page: number): Promise<unknown> => admin.purgeExpired(4 * page - 1)
      const seen = await allNames(credentials('access_token').list(listing), { limit: 4 }, purgeFour)
      equalValues(seen, names)
    },
  },
  {
    name: 'changes between two pages move no row, or an export has some rows twice',
    needs: ['admin', 'listing'],
    async run({ admin, listing }) {
      const names = namesOf(12)
      await inTurn([licenses, clients, credentials('access_token')], (each) =>
        insertAll(each, admin, names, 1),
      )
      const [first = ''] = names
      const changes: [Listed, () => MaybePromise<unknown>][] = [
        [licenses, () => admin.changeLicense(first, { status: 'new' }, 9000)],
        [clients, () => admin.updateClient(first, { name: 'new', redirectUris: ['app:/new'] })],
        [clients, () => admin.rotateClientSecret(first, hashOf(2))],
        [clients, () => admin.revokeClient(first, 9000)],
        [credentials('access_token'), () => admin.revokeCredential({ id: first }, 9000)],
        [credentials('access_token'), () => admin.revokeAccess({ clientId: nameOf('reseller') }, 9000)],
      ]
      await inTurn(changes, async ([listed, change]) => {
        const seen = await allNames(listed.list(listing), { limit: 5 }, () => race(1, change))
        equalValues(seen, names)
      })
    },
  },
  {
    name: 'the longest rows are listed whole, with a page mark of at most 1,024 characters, or the next page is refused',
    needs: ['admin', 'listing'],
    async run({ admin, listing }) {
      await inTurn(['1', '2', '3'], (last) => insertLongest(admin, last))
      await inTurn([licenses, clients, resellers, credentials('api_key')], async (listed) => {
        const first = await listed.list(listing)({ limit: 1 })
        equalValues([first.names.length, typeof first.next], [1, 'string'], listed.what)
        strictEqual(
          first.names[0]?.length,
          listed === licenses ? 128 : 255,
          `${listed.what} are listed whole`,
        )
        ok((first.next ?? '').length <= 1024, listed.what)
        const second = await listed.list(listing)({ limit: 1, after: first.next ?? '' })
        equalValues([second.names.length, typeof second.next], [1, 'string'], listed.what)
      })
    },
  },
  {
    name: 'licenses inserted through two instances are in one list and one count, or a report has those of one server',
    needs: ['admin', 'second', 'listing'],
    async run({ admin, second, listing }) {
      const names = namesOf(12)
      await inTurn(names.entries(), ([index, name]) =>
        (index % 3 === 0 ? admin : second).insertLicense(makeLicense(name)),
      )
      equalValues(await allNames(licenses.list(listing), { limit: 5 }), names)
      strictEqual(await listing.countLicenses({}), 12)
    },
  },
  {
    name: 'a license that changes hands is listed and counted with its new reseller, or the wrong one gets the invoice',
    needs: ['admin', 'listing'],
    async run({ admin, listing }) {
      await admin.insertLicense(makeLicense(nameOf('key')))
      await admin.changeLicense(nameOf('key'), { resellerId: nameOf('new') }, 2000)
      const found = await race(2, async (index) => {
        const of = { resellerId: nameOf(['reseller', 'new'][index] ?? '') }
        const { licenses: rows } = await listing.licenses({ ...of, limit: 5 })
        return [rows.length, await listing.countLicenses(of)]
      })
      equalValues(found, [
        [0, 0],
        [1, 1],
      ])
    },
  },
  {
    name: 'the list of one owner has its revoked and expired rows and no other kind, or an audit lacks what mattered',
    needs: ['admin', 'listing'],
    async run({ admin, listing }) {
      await admin.insertReseller(makeReseller())
      const ended = makeCredential(nameOf('ended'), { revokedAt: 5, expiresAt: 6 })
      await admin.insertCredential('api_key', hashOf(1), ended)
      await admin.insertCredential('reseller_token', hashOf(1), makeCredential(nameOf('token')))
      const list = credentials('api_key', 'reseller').list(listing)
      equalValues(await allNames(list, { limit: 5 }), [nameOf('ended')])
    },
  },
  {
    name: 'the list of one reseller has all of its licenses and no others, or customers are shown to competitors',
    needs: ['admin', 'listing'],
    async run({ admin, listing }) {
      const owners = ['a', 'A', 'b'].map(nameOf)
      const names = namesOf(30)
      await inTurn(names.entries(), async ([index, name]) => {
        const owner = owners[index % 3] ?? ''
        await admin.insertLicense(makeLicense(name, { resellerId: owner }))
        await admin.insertCredential('api_key', hashSecret(name), makeCredential(name, { ownerId: owner }))
      })
      const wanted = names.filter((_, index) => index % 3 === 0)
      const ofFirst: NameList = async (page) => {
        const { licenses: rows, ...next } = await listing.licenses({ ...page, resellerId: nameOf('a') })
        return { names: rows.map(({ licenseKey }) => licenseKey), ...next }
      }
      equalValues(await allNames(ofFirst, { limit: 3 }), wanted)
      const keys = await allNames(credentials('api_key', 'a').list(listing), { limit: 3 })
      equalValues(keys.toSorted(), wanted.toSorted())
      equalValues(await listing.licenses({ resellerId: nameOf('nobody'), limit: 3 }), { licenses: [] })
    },
  },
  {
    name: 'a thousand licenses are all counted and listed and hide none of another reseller, or a report lacks the rest',
    needs: ['admin', 'listing'],
    async run({ admin, listing }) {
      await fill(1001, (index) => admin.insertLicense(makeLicense(nameOf(`${index}`))))
      await admin.insertLicense(makeLicense(nameOf('last'), { resellerId: nameOf('other') }))
      const [all, large, other] = [{}, { resellerId: nameOf('reseller') }, { resellerId: nameOf('other') }]
      const listOf = (of: object): NameList =>
        licenses.list({ ...listing, licenses: (page) => listing.licenses({ ...page, ...of }) })
      strictEqual(await listing.countLicenses(all), 1002)
      strictEqual(await listing.countLicenses(large), 1001)
      strictEqual(await countAll(listOf(all)), 1002)
      strictEqual(await countAll(listOf(large)), 1001)
      equalValues(await allNames(listOf(other), { limit: 5 }), [nameOf('last')])
    },
  },
  {
    name: 'five hundred and one rows of a kind are all listed and hide none of another owner, or an export lacks the rest',
    needs: ['admin', 'listing'],
    async run({ admin, listing }) {
      const many = [clients, resellers, credentials('access_token', 'shop')]
      await inTurn(many, async (listed) => {
        await fill(501, (index) => listed.insert(admin, nameOf(`${index}`), index))
        strictEqual(await countAll(listed.list(listing)), 501, listed.what)
      })
      const other = credentials('access_token', 'other')
      await other.insert(admin, nameOf('last'), 501)
      equalValues(await allNames(other.list(listing), { limit: 5 }), [nameOf('last')])
      strictEqual(await countAll(credentials('access_token').list(listing)), 502)
    },
  },
  {
    name: 'licenses are counted, in all and by reseller, or an invoice is wrong',
    needs: ['admin', 'listing'],
    async run({ admin, listing }) {
      strictEqual(await listing.countLicenses({}), 0)
      await race(9, (index) =>
        admin.insertLicense(makeLicense(nameOf(`${index}`), { resellerId: nameOf(index < 4 ? 'a' : 'A') })),
      )
      await admin.deleteLicense(nameOf('0'))
      const counts = await Promise.all(
        [{}, { resellerId: nameOf('a') }, { resellerId: nameOf('nobody') }].map((of) =>
          listing.countLicenses(of),
        ),
      )
      equalValues(counts, [8, 3, 0])
    },
  },
  {
    name: 'lists have complete rows of their own kind only, or support reads what is not there',
    needs: ['admin', 'listing'],
    async run({ admin, listing }) {
      // A name that comes back changed if text is trimmed, folded, normalized or cut.
      const name = ` \u{1F600} e\u0301 \u00e9 ${'X'.repeat(245)} `
      const client = makeClient({
        name,
        revokedAt: 7,
        createdAt: 8_000_000_000_000_001,
        clientType: 'public',
      })
      await admin.insertClient(client)
      const reseller = makeReseller({ name, createdAt: 8_000_000_000_000_002 })
      await admin.insertReseller(reseller)
      const unlabeled = makeReseller({
        resellerId: nameOf('other'),
        name: '',
        createdAt: reseller.createdAt + 1,
      })
      await admin.insertReseller(unlabeled)
      const fields = {
        scope: 'a b',
        subject: 'Ada',
        createdAt: 8_000_000_000_000_003,
        expiresAt: 9,
        revokedAt: 8,
        name,
      }
      await inTurn(credentialKinds, (kind) =>
        admin.insertCredential(kind, hashOf(1), makeCredential(nameOf(kind), fields)),
      )
      const { secretHashes: _, ...listedClient } = client
      const [found] = (await listing.clients({ limit: 5 })).clients
      equalValues({ ...found, secretHashes: undefined }, { ...listedClient, secretHashes: undefined })
      equalValues((await listing.resellers({ limit: 5 })).resellers, [reseller, unlabeled])
      await inTurn(credentialKinds, async (kind) =>
        equalValues((await listing.credentials({ kind, limit: 5 })).credentials, [
          { ...makeCredential(nameOf(kind), fields), kind, lastUsedOn: null },
        ]),
      )
      const license = makeLicense(nameOf('key'), {
        registeredTo: name,
        domainOrIp: name,
        updatedAt: 8_000_000_000_000_004,
      })
      await admin.insertLicense(license)
      equalValues((await listing.licenses({ limit: 5 })).licenses, [license])
    },
  },
  {
    name: 'an invalid page mark is refused, or a mistyped one silently starts over',
    needs: ['admin', 'listing'],
    run: ({ listing }) =>
      inTurn(allListed, (listed) =>
        rejectsAs(
          'invalid',
          () => listed.list(listing)({ after: '\u00e4; no mark', limit: 3 }),
          `page mark of ${listed.what}`,
        ),
      ),
  },
]
