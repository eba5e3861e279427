import { strictEqual } from 'node:assert/strict'
import type { LicensePage } from '../../ports/storage-listing.ts'
import type { BoundListing } from './bound.ts'
import {
  equalValues,
  fill,
  hashOf,
  inTurn,
  makeIdempotencyKey,
  makeLicense,
  nameOf,
  race,
  raceOverTurns,
  type ContractCase,
  type ContractContext,
} from './context.ts'

type Filters = Omit<LicensePage, 'after' | 'limit'>

/** Returns the keys of all licenses that pass the filters, page by page. */
async function keysOf(listing: BoundListing, filters: Filters, limit = 2): Promise<string[]> {
  const keys: string[] = []
  let after: string | undefined
  do {
    // oxlint-disable-next-line no-await-in-loop -- each page says where the next one starts
    const page = await listing.licenses({ ...filters, limit, ...(after !== undefined && { after }) })
    keys.push(...page.licenses.map(({ licenseKey }) => licenseKey))
    after = page.next
  } while (after !== undefined)
  return keys
}

/** Inserts a license for each domain, named after its position. */
async function insertFor(
  { storage }: Pick<ContractContext, 'storage'>,
  domains: readonly string[],
): Promise<void> {
  await inTurn(domains.entries(), ([index, domainOrIp]) =>
    storage.insertLicense(
      makeLicense(nameOf(`${index}`), { domainOrIp }),
      index % 2 === 0 ? undefined : makeIdempotencyKey({ keyHash: hashOf(index) }),
    ),
  )
}

function named(...numbers: number[]): string[] {
  return numbers.map((number) => nameOf(`${number}`))
}

export const domainCases: readonly ContractCase[] = [
  {
    name: 'the licenses of a domain are found by its compared form, or support cannot tell whose shop it is',
    needs: ['admin', 'listing'],
    async run({ admin, listing }) {
      await insertFor({ storage: admin }, [
        'shop.example',
        'SHOP.example.',
        'eu.shop.example',
        '*.shop.example',
        'm\u00fcnchen.example',
        '::ffff:192.0.2.1',
        'shop.example',
      ])
      const found = await Promise.all(
        [
          ['shop.example'],
          ['eu.shop.example', '*.shop.example'],
          ['xn--mnchen-3ya.example'],
          ['192.0.2.1'],
        ].map((comparedDomains) => keysOf(listing, { comparedDomains })),
      )
      equalValues(found, [named(0, 1, 6), named(2, 3), named(4), named(5)])
      equalValues(await keysOf(listing, { comparedDomains: ['nobody.example'] }), [])
      const [first] = (await listing.licenses({ comparedDomains: ['shop.example'], limit: 1 })).licenses
      equalValues(first, makeLicense(nameOf('0'), { domainOrIp: 'shop.example' }))
    },
  },
  {
    name: 'the licenses of several domains are in one order, page by page, or an export has gaps',
    needs: ['admin', 'listing'],
    async run({ admin, listing }) {
      const comparedDomains = ['a.example', '*.example', 'www.a.example', 'www.www.a.example']
      const kinds = [...comparedDomains, 'b.example']
      const domains = Array.from({ length: 30 }, (_, index) => kinds[index % kinds.length] ?? '')
      await insertFor({ storage: admin }, domains)
      const wanted = domains.flatMap((domain, index) => (domain === 'b.example' ? [] : [index]))
      await inTurn([1, 3, 20, 100], async (limit) =>
        equalValues(await keysOf(listing, { comparedDomains }, limit), named(...wanted)),
      )
    },
  },
  {
    name: 'a license that moves is found by its new domain and no longer by the old one, or two shops claim it',
    needs: ['admin', 'listing'],
    async run({ admin, listing }) {
      await insertFor({ storage: admin }, ['old.example', 'old.example', 'old.example'])
      const update = { resellerId: nameOf('reseller'), at: 2000 }
      const [licenseKey = '', changedKey = '', kept = ''] = named(0, 1, 2)
      await admin.updateLicense({ ...update, licenseKey, patch: { domainOrIp: 'NEW.example' } })
      await admin.changeLicense(changedKey, { domainOrIp: 'new.example' }, 2000)
      await admin.updateLicense({ ...update, licenseKey: kept, patch: { status: 'new' } })
      await admin.changeLicense(kept, { registeredTo: 'new', resellerId: nameOf('new') }, 2000)
      equalValues(await keysOf(listing, { comparedDomains: ['new.example'] }), named(0, 1))
      equalValues(await keysOf(listing, { comparedDomains: ['old.example'] }), named(2))
      await admin.deleteLicense(kept)
      equalValues(await keysOf(listing, { comparedDomains: ['old.example'] }), [])
    },
  },
  {
    name: 'twenty callers move one license: it is found by the domain it has, or by one that it lost',
    needs: ['admin', 'second', 'listing'],
    async run({ admin, second, listing }) {
      await insertFor({ storage: admin }, ['old.example'])
      const domains = Array.from({ length: 20 }, (_, index) => `d${index}.example`)
      await raceOverTurns(20, (index) =>
        (index % 2 === 0 ? admin : second).updateLicense({
          licenseKey: nameOf('0'),
          resellerId: nameOf('reseller'),
          patch: { domainOrIp: domains[index] ?? '' },
          at: 2000,
        }),
      )
      const domain = (await admin.findLicense(nameOf('0')))?.domainOrIp
      await inTurn(['old.example', ...domains], async (each) =>
        equalValues(
          await keysOf(listing, { comparedDomains: [each] }),
          each === domain ? named(0) : [],
          each,
        ),
      )
    },
  },
  {
    name: 'compared forms are compared whole, byte for byte, or the license of another shop is found',
    needs: ['admin', 'listing'],
    async run({ admin, listing }) {
      const long = '/'.repeat(253)
      // Texts that are no domains are their own forms.
      const forms = [
        '/a',
        '/A',
        '/a ',
        '/\u00e4',
        '/a\u0308',
        '/\u00df',
        '/ss',
        '/\u{1f48e}',
        '%',
        '',
        `${long}y`,
        `${long}z`,
      ]
      await insertFor({ storage: admin }, forms)
      await inTurn(forms.entries(), async ([index, form]) =>
        equalValues(await keysOf(listing, { comparedDomains: [form] }), named(index), form),
      )
    },
  },
  {
    name: 'filters of licenses combine, or the list of one reseller shows the licenses of others',
    needs: ['admin', 'listing'],
    async run({ admin, listing }) {
      const [resellers, statuses, domains, references] = [
        ['a', 'A'].map(nameOf),
        ['valid', 'Valid'],
        ['a.example', 'b.example'],
        ['pay_1', 'PAY_1'].map(nameOf),
      ]
      const rows = Array.from({ length: 48 }, (_, index) => ({
        resellerId: resellers[index & 1] ?? '',
        status: statuses[(index >> 1) & 1] ?? '',
        domainOrIp: domains[(index >> 2) & 1] ?? '',
        reference: references[(index >> 3) % 3] ?? null,
      }))
      await inTurn(rows.entries(), ([index, fields]) =>
        admin.insertLicense(makeLicense(nameOf(`${index}`), fields)),
      )
      const choices = Array.from({ length: 16 }, (_, bits) => bits)
      await inTurn(choices, async (bits) => {
        const [resellerId, status, domain, reference] = [nameOf('A'), 'valid', 'b.example', nameOf('pay_1')]
        const filters = {
          ...((bits & 1) > 0 && { resellerId }),
          ...((bits & 2) > 0 && { status }),
          ...((bits & 4) > 0 && { comparedDomains: [domain] }),
          ...((bits & 8) > 0 && { reference }),
        }
        const isWanted = (row: (typeof rows)[number]): boolean =>
          ((bits & 1) === 0 || row.resellerId === resellerId) &&
          ((bits & 2) === 0 || row.status === status) &&
          ((bits & 4) === 0 || row.domainOrIp === domain) &&
          ((bits & 8) === 0 || row.reference === reference)
        const wanted = rows.flatMap((row, index) => (isWanted(row) ? [index] : []))
        equalValues(await keysOf(listing, filters, 5), named(...wanted), JSON.stringify(filters))
      })
    },
  },
  {
    name: 'licenses that end are listed in order of their end, as changed, or those that end first are never renewed',
    needs: ['admin', 'listing'],
    async run({ admin, listing }) {
      const resellers = ['a', 'b'].map(nameOf)
      const rows = Array.from({ length: 60 }, (_, index) => ({
        licenseKey: nameOf(`${index}`),
        resellerId: resellers[index & 1] ?? '',
        status: index % 3 === 0 ? 'invalid' : 'valid',
        expiresAt: index % 5 === 0 ? null : 9e12 + ((index * 7) % 13),
      }))
      await race(60, (index) => admin.insertLicense(makeLicense(rows[index]?.licenseKey ?? '', rows[index])))
      const change = { expiresAt: 9e12 + 5 }
      await inTurn([0, 1, 2], (index) => admin.changeLicense(nameOf(`${index}`), change, 2000))
      await admin.changeLicense(nameOf('3'), { expiresAt: null }, 2000)
      const endOf = (row: (typeof rows)[number], index: number): number =>
        (index < 3 ? change.expiresAt : index === 3 ? null : row.expiresAt) ?? Infinity
      const ranges = [
        { endsFrom: 9e12, endsBefore: 9e12 + 13 },
        { endsFrom: 9e12 + 5, endsBefore: 9e12 + 6 },
      ]
      const pages = [...ranges, { endsBefore: 9e12 + 6, resellerId: resellers[1] ?? '' }]
      await inTurn(pages, async (filters: Filters) => {
        const { endsFrom = 0, endsBefore = 0, resellerId } = filters
        const wanted = rows.filter((row, index) => {
          const isInRange = endOf(row, index) >= endsFrom && endOf(row, index) < endsBefore
          return isInRange && row.resellerId === (resellerId ?? row.resellerId)
        })
        const keys = await keysOf(listing, filters, 3)
        equalValues(keys.toSorted(), wanted.map(({ licenseKey }) => licenseKey).toSorted())
        const found = await race(keys.length, (index) => admin.findLicense(keys[index] ?? ''))
        const ends = found.map((license) => license?.expiresAt ?? 0)
        equalValues(
          ends,
          ends.toSorted((a, b) => a - b),
        )
      })
    },
  },
  {
    name: 'a thousand licenses of one domain are all listed and hide none of another, or support stops looking',
    needs: ['admin', 'listing'],
    async run({ admin, listing }) {
      await fill(1001, (index) =>
        admin.insertLicense(makeLicense(nameOf(`many-${index}`), { domainOrIp: 'localhost' })),
      )
      const last = { domainOrIp: 'shop.example', status: 'last' }
      await admin.insertLicense(makeLicense(nameOf('last'), last))
      strictEqual((await keysOf(listing, { comparedDomains: ['localhost'] }, 400)).length, 1001)
      equalValues(await keysOf(listing, { comparedDomains: ['shop.example'] }), [nameOf('last')])
      equalValues(await keysOf(listing, { status: 'last' }), [nameOf('last')])
    },
  },
]
