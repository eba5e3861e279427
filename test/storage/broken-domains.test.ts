import { memoryStorage } from 'utility-api/storage/memory'
import { testMistakes, type Mistake } from './support/mistake.ts'

const found = 'the licenses of a domain are found by its compared form'
const ordered = 'the licenses of several domains are in one order'
const moves = 'a license that moves is found by its new domain and no longer by the old one'
const filters = 'filters of licenses combine'
const late = 'a use that is reported late lowers no time'
const listed = 'the day of the last use is listed, of exactly the credentials that were used'
const reseller = 'a reseller is found as it was inserted, by exactly its id'

/** Notes uses in a map of its own. */
function noting(
  what: string,
  caughtBy: string,
  note: (days: Map<string, number>, kind: string, ids: readonly string[], at: number) => void,
): Mistake {
  return {
    what,
    caughtBy,
    change(_, lists) {
      const days = new Map<string, number>()
      return {
        recordUse: (kind, ids, at) => note(days, kind, ids, at),
        async credentials(page) {
          const { credentials, ...next } = await lists.credentials(page)
          const lastUsedOn = (id: string): number | null =>
            days.get(`${page.kind} ${id}`) ?? days.get(id) ?? null
          return {
            ...next,
            credentials: credentials.map((row) => ({ ...row, lastUsedOn: lastUsedOn(row.id) })),
          }
        },
      }
    },
  }
}

testMistakes([
  {
    what: 'keeps no compared form of a license that comes with an idempotency key',
    caughtBy: 'the licenses of a domain are found by its compared form',
    change: () => {
      const { insertLicense, ...storage } = memoryStorage()
      return {
        ...storage,
        insertLicense: (license, key, call) =>
          insertLicense(key ? { ...license, comparedDomain: '' } : license, key, call),
      }
    },
  },
  {
    what: 'lists only the valid ones among the licenses that end',
    caughtBy: 'licenses that end are listed in order of their end',
    change: (_, lists) => ({
      licenses: async (page) => {
        const { licenses, ...next } = await lists.licenses(page)
        if (page.endsBefore === undefined) return { licenses, ...next }
        return { licenses: licenses.filter(({ status }) => status === 'valid'), ...next }
      },
    }),
  },
  {
    what: 'finds licenses by their text as it was sent',
    caughtBy: found,
    change: (_, lists) => ({
      licenses: async ({ comparedDomains, ...page }) => {
        const { licenses, ...next } = await lists.licenses({ ...page, limit: 1000 })
        const isFound = (text: string): boolean => comparedDomains?.includes(text) ?? true
        return { ...next, licenses: licenses.filter(({ domainOrIp }) => isFound(domainOrIp)) }
      },
    }),
  },
  {
    what: 'returns the compared form with its rows',
    caughtBy: found,
    change: (_, lists) => ({
      licenses: async (page) => {
        const { licenses, ...next } = await lists.licenses(page)
        return { ...next, licenses: licenses.map((row) => ({ ...row, comparedDomain: row.domainOrIp })) }
      },
    }),
  },
  {
    what: 'finds the licenses of the first domain only',
    caughtBy: found,
    change: (_, lists) => ({
      licenses: ({ comparedDomains, ...page }) =>
        lists.licenses({ ...page, ...(comparedDomains && { comparedDomains: comparedDomains.slice(0, 1) }) }),
    }),
  },
  {
    what: 'finds the licenses of the first two domains only',
    caughtBy: ordered,
    change: (_, lists) => ({
      licenses: ({ comparedDomains, ...page }) =>
        lists.licenses({ ...page, ...(comparedDomains && { comparedDomains: comparedDomains.slice(0, 2) }) }),
    }),
  },
  {
    what: 'lists one domain after the other',
    caughtBy: ordered,
    change: (_, lists) => ({
      licenses: async ({ comparedDomains = [], ...page }) => {
        const all = await Promise.all(
          comparedDomains.map((form) => lists.licenses({ comparedDomains: [form], limit: 1000 })),
        )
        return { licenses: all.flatMap(({ licenses }) => licenses).slice(0, page.limit) }
      },
    }),
  },
  ...(['updateLicense', 'changeLicense'] as const).map((method): Mistake => ({
    what: `keeps the form of before in ${method}`,
    caughtBy: moves,
    change(good, lists) {
      const before = new Map<string, string>()
      return {
        async insertLicense(license, idempotency) {
          before.set(license.licenseKey, license.comparedDomain)
          return good.insertLicense(license, idempotency)
        },
        licenses: async ({ comparedDomains, ...page }) => {
          const { licenses, ...next } = await lists.licenses({ ...page, limit: 1000 })
          const isFound = (key: string): boolean => comparedDomains?.includes(before.get(key) ?? '') ?? true
          return { ...next, licenses: licenses.filter(({ licenseKey }) => isFound(licenseKey)) }
        },
        ...(method === 'updateLicense'
          ? {
              changeLicense(licenseKey, change, at) {
                if (change.comparedDomain !== undefined) before.set(licenseKey, change.comparedDomain)
                return good.changeLicense(licenseKey, change, at)
              },
            }
          : {
              updateLicense(update) {
                const form = update.patch.comparedDomain
                if (form !== undefined) before.set(update.licenseKey, form)
                return good.updateLicense(update)
              },
            }),
      }
    },
  })),
  ...(['resellerId', 'status', 'comparedDomains'] as const).map((filter): Mistake => ({
    what: `takes no notice of ${filter} in a list`,
    caughtBy: filters,
    change: (_, lists) => ({
      licenses: ({ [filter]: _filter, ...page }) => lists.licenses(page),
    }),
  })),
  {
    what: 'applies the first filter only',
    caughtBy: filters,
    change: (_, lists) => ({
      licenses: ({ resellerId, status, comparedDomains, ...page }) => {
        if (comparedDomains !== undefined) return lists.licenses({ ...page, comparedDomains })
        if (resellerId !== undefined) return lists.licenses({ ...page, resellerId })
        return lists.licenses(status === undefined ? page : { ...page, status })
      },
    }),
  },
  {
    what: 'finds the first thousand licenses of a domain',
    caughtBy: 'a thousand licenses of one domain are all listed',
    change: (_, lists) => ({
      licenses: async (page) => {
        const { licenses, ...next } = await lists.licenses(page)
        return Number(page.after) > 300 ? { licenses } : { licenses, ...next }
      },
    }),
  },
  noting('stores the last report', late, (days, kind, ids, at) =>
    ids.forEach((id) => days.set(`${kind} ${id}`, at)),
  ),
  noting('keeps the first report', late, (days, kind, ids, at) =>
    ids.forEach((id) => days.set(`${kind} ${id}`, days.get(`${kind} ${id}`) ?? at)),
  ),
  noting('takes no notice of the kind', listed, (days, _, ids, at) => ids.forEach((id) => days.set(id, at))),
  noting('notes the first id only', listed.replace(/, of.*/, ''), (days, kind, [id], at) =>
    days.set(`${kind} ${id}`, kind === 'api_key' ? at : at + 1),
  ),
  {
    what: 'finds a reseller without its label',
    caughtBy: reseller,
    change: (good) => ({
      async findReseller(resellerId) {
        const { name: _, ...row } = (await good.findReseller(resellerId)) ?? { resellerId: '', createdAt: 0 }
        return row.resellerId === '' ? null : row
      },
    }),
  },
  {
    what: 'finds a reseller in any case',
    caughtBy: reseller,
    change: (good) => ({ findReseller: (resellerId) => good.findReseller(resellerId.toLowerCase()) }),
  },
])
