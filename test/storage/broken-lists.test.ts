import type { Client, License, ListedCredential } from 'utility-api/storage'
import type { BoundListing } from '../../src/testing/contract/bound.ts'
import { testMistakes, type Mistake } from './support/mistake.ts'

type Lists = 'clients' | 'resellers' | 'licenses' | 'credentials'
interface Page {
  readonly after?: string
  readonly limit: number
}
type List = (page: Page) => Promise<{ readonly next?: string } & Record<string, unknown>>

/** Returns one of the lists, changed. */
function withList(lists: BoundListing, what: Lists, change: (list: List) => List): Partial<BoundListing> {
  return { [what]: change(lists[what] as unknown as List) }
}

const allLists = ['clients', 'resellers', 'licenses', 'credentials'] as const

function toBase64(row: object): string {
  return Buffer.from(JSON.stringify(row)).toString('base64')
}

/** Lists once more, at the end, what was changed. */
function moving(
  method: 'updateClient' | 'rotateClientSecret' | 'revokeCredential' | 'revokeAccess',
  what: 'clients' | 'credentials',
): Mistake {
  return {
    what: `moves a row to the end of its list by ${method}`,
    caughtBy: 'changes between two pages move no row',
    change(good, lists) {
      let moved: readonly (Client | ListedCredential)[] = []
      return {
        async [method](...args: unknown[]) {
          const page = await (lists[what] as unknown as List)({ kind: 'access_token', limit: 1 } as Page)
          moved = page[what] as typeof moved
          return (good[method] as (...all: unknown[]) => unknown)(...args)
        },
        ...withList(lists, what, (list) => async (page) => {
          const found = await list(page)
          if (found.next !== undefined) return found
          return { ...found, [what]: [...(found[what] as unknown[]), ...moved] }
        }),
      }
    },
  }
}

testMistakes([
  moving('updateClient', 'clients'),
  moving('rotateClientSecret', 'clients'),
  moving('revokeCredential', 'credentials'),
  moving('revokeAccess', 'credentials'),
  ...allLists.flatMap((what): Mistake[] => [
    {
      what: `makes page marks of ${what} that are numbers`,
      caughtBy: 'the longest rows are listed whole, with a page mark of at most 1,024 characters',
      change: (_, lists) =>
        withList(lists, what, (list) => async ({ after, ...page }) => {
          const { next, ...found } = await list(after === undefined ? page : { ...page, after: `${after}` })
          return { ...found, ...(next !== undefined && { next: Number(next) as unknown as string }) }
        }),
    },
    {
      what: `makes page marks of whole rows of ${what}`,
      caughtBy: 'the longest rows are listed whole, with a page mark of at most 1,024 characters',
      change: (_, lists) =>
        withList(lists, what, (list) => async ({ after, ...page }) => {
          const place = after === undefined ? {} : { after: after.slice(0, after.indexOf(' ')) }
          const { next, ...found } = await list({ ...page, ...place })
          return { ...found, ...(next !== undefined && { next: `${next} ${toBase64(found)}` }) }
        }),
    },
    {
      what: `lists two ${what} where one was asked for`,
      caughtBy: 'the longest rows are listed whole, with a page mark of at most 1,024 characters',
      change: (_, lists) =>
        withList(
          lists,
          what,
          (list) =>
            ({ limit, ...page }) =>
              list({ ...page, limit: Math.max(2, limit) }),
        ),
    },
  ]),
  ...(['licenses', 'countLicenses'] as const).map((method): Mistake => ({
    what: `finds a license under the reseller that made it (${method})`,
    caughtBy: 'a license that changes hands is listed and counted with its new reseller',
    change(good, lists) {
      const before = new Map<string, string>()
      return {
        async changeLicense(licenseKey, { resellerId, ...change }, at) {
          const license = await good.findLicense(licenseKey)
          if (license !== null && resellerId !== undefined) before.set(resellerId, license.resellerId)
          return good.changeLicense(licenseKey, { ...change, ...(resellerId && { resellerId }) }, at)
        },
        [method](of: { readonly resellerId?: string; readonly limit: number }) {
          const stale = [...before].find(([, old]) => old === of.resellerId)?.[0] ?? 'nobody'
          return lists[method]({ ...of, resellerId: stale }) as never
        },
      }
    },
  })),
  {
    what: 'lists a deleted license once more, at the end',
    caughtBy: 'three hundred licenses are listed once each while others are deleted',
    change(good, lists) {
      let deleted: License[] = []
      return {
        async deleteLicense(licenseKey) {
          const license = await good.findLicense(licenseKey)
          if (license !== null) deleted = [license]
          return good.deleteLicense(licenseKey)
        },
        async licenses(page) {
          const { licenses, next } = await lists.licenses(page)
          return next === undefined ? { licenses: [...licenses, ...deleted] } : { licenses, next }
        },
      }
    },
  },
  {
    what: 'leaves revoked credentials out of the list of their owner',
    caughtBy: 'the list of one owner has its revoked and expired rows and no other kind',
    change: (_, lists) => ({
      async credentials(page) {
        const found = await lists.credentials(page)
        return { ...found, credentials: found.credentials.filter(({ revokedAt }) => revokedAt === null) }
      },
    }),
  },
  {
    what: 'lists the credentials of an owner whatever their kind',
    caughtBy: 'the list of one owner has its revoked and expired rows and no other kind',
    change: (_, lists) => ({
      async credentials(page) {
        const kinds = ['api_key', 'reseller_token', 'access_token'] as const
        const found = await Promise.all(kinds.map((kind) => lists.credentials({ ...page, kind })))
        return { credentials: found.flatMap(({ credentials }) => credentials) }
      },
    }),
  },
  {
    what: 'lists the licenses of all references',
    caughtBy: 'filters of licenses combine',
    change: (_, lists) => ({
      licenses: ({ reference: _reference, ...page }) => lists.licenses(page),
    }),
  },
  {
    what: 'lists licenses that end in order of insertion',
    caughtBy: 'licenses that end are listed in order of their end',
    change: (_, lists) => ({
      async licenses({ endsBefore, endsFrom = 0, ...page }) {
        if (endsBefore === undefined) return lists.licenses(page)
        const { licenses } = await lists.licenses({ limit: 1000 })
        const { resellerId } = page
        return {
          licenses: licenses.filter(({ expiresAt, resellerId: owner }) => {
            const isInRange = expiresAt !== null && expiresAt >= endsFrom && expiresAt < endsBefore
            return isInRange && owner === (resellerId ?? owner)
          }),
        }
      },
    }),
  },
  {
    what: 'goes on after the end of the last license alone, and so past those that end together',
    caughtBy: 'licenses that end are listed in order of their end',
    change: (_, lists) => ({
      async licenses(page) {
        const { licenses, next } = await lists.licenses(page)
        return { licenses, ...(next !== undefined && { next: next.replace(/:.*/s, ':\u{10FFFF}') }) }
      },
    }),
  },
])
