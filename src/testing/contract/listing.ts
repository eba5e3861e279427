import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict'
import type { AdminStorage, LicensePage } from '../../ports/storage.ts'
import { inTurn, makeLicense, rejectsAs, type ContractCase } from './context.ts'

/** Follows `next` to the end; `between` runs after every page. */
async function keysOfAllPages(
  storage: AdminStorage,
  page: LicensePage,
  between?: (pageNumber: number) => Promise<unknown>,
  pageNumber = 1,
): Promise<string[]> {
  ok(pageNumber < 100, 'paging must end')
  const { licenses, next } = await storage.listLicenses(page)
  ok(licenses.length <= page.limit, 'a page holds `limit` licences at most')
  await between?.(pageNumber)
  const keys = licenses.map((license) => license.licenseKey)
  if (next === undefined) return keys
  return [...keys, ...(await keysOfAllPages(storage, { ...page, after: next }, between, pageNumber + 1))]
}

function names(count: number, prefix = 'key'): string[] {
  // Keys that sort against their order of creation: paging by key would turn the list around.
  return Array.from({ length: count }, (_, index) => `${prefix}-${String(900 - index)}`)
}

export const listingCases: readonly ContractCase[] = [
  {
    name: 'licences of one millisecond are all listed in order of creation, or some are never seen',
    needs: ['admin'],
    async run({ admin }) {
      await inTurn(names(25), (key) => admin.insertLicense(makeLicense(key)))
      deepStrictEqual(await keysOfAllPages(admin, { limit: 4 }), names(25))
      deepStrictEqual(await keysOfAllPages(admin, { limit: 100 }), names(25))
    },
  },
  {
    name: 'the last page has no next, full or not, or a listing never ends',
    needs: ['admin'],
    async run({ admin }) {
      deepStrictEqual(await admin.listLicenses({ limit: 5 }), { licenses: [] })
      await inTurn(names(5), (key) => admin.insertLicense(makeLicense(key)))
      const licenses = names(5).map((key) => makeLicense(key))
      deepStrictEqual(await admin.listLicenses({ limit: 5 }), { licenses })
      deepStrictEqual((await admin.listLicenses({ limit: 4 })).licenses, licenses.slice(0, 4))
    },
  },
  {
    name: 'inserts and updates between two pages leave no gap and repeat nothing, or an export is wrong',
    needs: ['admin'],
    async run({ admin }) {
      await inTurn(names(20), (key) => admin.insertLicense(makeLicense(key)))
      const keys = await keysOfAllPages(admin, { limit: 3 }, async (pageNumber) => {
        if (pageNumber > 5) return
        await inTurn(names(2, `${pageNumber}`), (key) =>
          admin.insertLicense(makeLicense(key, { createdAt: pageNumber })),
        )
        const patch = { status: 'new' }
        await admin.updateLicense({ licenseKey: 'key-900', resellerId: 'reseller', patch, at: 9000 })
      })
      deepStrictEqual(
        keys.filter((key) => key.startsWith('key')),
        names(20),
      )
      strictEqual(new Set(keys).size, keys.length, 'nothing twice')
    },
  },
  {
    name: 'a listing for one reseller shows all of that reseller and no other, or customers are shown to rivals',
    needs: ['admin'],
    async run({ admin }) {
      const resellers = ['a', 'A', 'b']
      await inTurn(names(30), (key) => {
        const resellerId = resellers[Number(key.slice(-1)) % 3] ?? 'a'
        return admin.insertLicense(makeLicense(key, { resellerId }))
      })
      const wanted = names(30).filter((key) => Number(key.slice(-1)) % 3 === 0)
      deepStrictEqual(await keysOfAllPages(admin, { resellerId: 'a', limit: 3 }), wanted)
      deepStrictEqual(await admin.listLicenses({ resellerId: 'nobody', limit: 3 }), { licenses: [] })
    },
  },
  {
    name: 'a page mark that is none is invalid, or a mistyped one silently starts over',
    needs: ['admin'],
    async run({ admin }) {
      await rejectsAs(
        'invalid',
        () => admin.listLicenses({ after: '\u00e4; no mark', limit: 3 }),
        'page mark',
      )
    },
  },
]
