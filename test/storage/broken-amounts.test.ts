import { setTimeout as sleep } from 'node:timers/promises'
import { StorageError, type ListedCredential } from 'utility-api/storage'
import type { BoundAdmin } from '../../src/testing/contract/bound.ts'
import { testMistakes, type Mistake } from './support/mistake.ts'

/** Deletes the expired codes that were unspent when it looked, whatever became of them in the meantime. */
function purgingLate(good: BoundAdmin): ReturnType<Mistake['change']> {
  const expiries = new Map<string, { readonly hash: Uint8Array; readonly expiresAt: number }>()
  const gone = new Set<string>()
  return {
    insertAuthorizationCode(hash, code) {
      expiries.set(hash.join(), { hash, expiresAt: code.expiresAt })
      return good.insertAuthorizationCode(hash, code)
    },
    async purgeExpired(at) {
      const expired = [...expiries.values()].filter(({ expiresAt }) => expiresAt <= at)
      const found = await Promise.all(expired.map(({ hash }) => good.findAuthorizationCode(hash)))
      await sleep(1)
      for (const [index, { hash }] of expired.entries())
        if (found[index]?.redeemedAt === null) gone.add(hash.join())
      return good.purgeExpired(at)
    },
    redeemAuthorizationCode: (hash, at, token) =>
      !gone.has(hash.join()) && good.redeemAuthorizationCode(hash, at, token),
    revokeAccessTokensOfCode: (hash, at) =>
      gone.has(hash.join()) ? 0 : good.revokeAccessTokensOfCode(hash, at),
  }
}

testMistakes([
  {
    what: 'purges the codes that were unspent a moment ago',
    caughtBy: 'a purge keeps a code that is spent at that moment',
    change: purgingLate,
  },
  {
    what: 'purges the codes that were unspent a moment ago, whatever another instance does',
    caughtBy: 'a purge keeps a code that another instance spends at that moment',
    second: true,
    change: purgingLate,
  },
  {
    what: 'goes on in a list after the license of the page mark',
    caughtBy: 'a list goes on after the rows of a page are deleted',
    change: (_, lists) => ({
      async licenses({ after, limit, ...of }) {
        const all = (await lists.licenses({ ...of, limit: 5000 })).licenses
        const place = all.findIndex(({ licenseKey }) => licenseKey === after)
        const rest = after === undefined ? all : place === -1 ? [] : all.slice(place + 1)
        const [licenses, next] = [rest.slice(0, limit), rest[limit - 1]]
        return rest.length > limit && next ? { licenses, next: next.licenseKey } : { licenses }
      },
    }),
  },
  {
    what: 'goes on in a list after the credential of the page mark',
    caughtBy: 'a list goes on after the rows of a page are deleted',
    change: (_, lists) => ({
      async credentials({ after, limit, ...of }) {
        const all = (await lists.credentials({ ...of, limit: 5000 })).credentials
        const place = all.findIndex(({ id }) => id === after)
        const rest = after === undefined ? all : place === -1 ? [] : all.slice(place + 1)
        const [credentials, next] = [rest.slice(0, limit), rest[limit - 1]]
        return rest.length > limit && next ? { credentials, next: next.id } : { credentials }
      },
    }),
  },
  {
    what: 'ends the list of a reseller at a window without any of its licenses',
    caughtBy: 'a thousand licenses are all counted and listed and hide none of another reseller',
    change: (_, lists) => ({
      async licenses({ resellerId, ...page }) {
        const { licenses, ...next } = await lists.licenses({ ...page, limit: Math.max(page.limit, 500) })
        const own = licenses.filter((each) => each.resellerId === (resellerId ?? each.resellerId))
        return own.length === 0 ? { licenses: [] } : { licenses: own, ...next }
      },
    }),
  },
  {
    what: 'lists five hundred licenses and says that these are all',
    caughtBy: 'a thousand licenses are all counted and listed and hide none of another reseller',
    change: (_, lists) => ({
      async licenses({ limit, ...page }) {
        if (limit <= 500) return lists.licenses({ ...page, limit })
        return { licenses: (await lists.licenses({ ...page, limit: 500 })).licenses }
      },
    }),
  },
  {
    what: 'counts no further than to a thousand',
    caughtBy: 'a thousand licenses are all counted and listed and hide none of another reseller',
    change: (_, lists) => ({
      countLicenses: async (of) => Math.min(1000, await lists.countLicenses(of)),
    }),
  },
  {
    what: 'lists fifty credentials of an owner and says that these are all',
    caughtBy: 'five hundred and one rows of a kind are all listed',
    change: (_, lists) => ({
      async credentials({ limit, ...page }) {
        if (page.ownerId === undefined || limit <= 50) return lists.credentials({ ...page, limit })
        return { credentials: (await lists.credentials({ ...page, limit: 50 })).credentials }
      },
    }),
  },
  {
    what: 'ends the list of an owner at a window without any of its credentials',
    caughtBy: 'five hundred and one rows of a kind are all listed',
    change: (_, lists) => ({
      async credentials({ ownerId, ...page }) {
        const { credentials, ...next } = await lists.credentials({ ...page, limit: 500 })
        const isOwn = (each: ListedCredential): boolean => each.ownerId === (ownerId ?? each.ownerId)
        const own = credentials.filter(isOwn)
        return own.length === 0 ? { credentials: [] } : { credentials: own, ...next }
      },
    }),
  },
  ...(['clients', 'resellers'] as const).map((what): Mistake => ({
    what: `refuses to list more than five hundred ${what} at once`,
    caughtBy: 'five hundred and one rows of a kind are all listed',
    change: (_, lists) => ({
      [what](page: { readonly limit: number }) {
        if (page.limit > 500) throw new StorageError('invalid', 'too many')
        return lists[what](page)
      },
    }),
  })),
  ...(['client', 'subject'] as const).map((whose): Mistake => ({
    what: `ends five hundred of the tokens of a ${whose}`,
    caughtBy: {
      client: 'revoking access ends five hundred and one tokens and codes',
      subject: "revoking a subject's access ends five hundred and one tokens and codes",
    }[whose],
    change: (good, lists) => ({
      async revokeAccess(_which, at) {
        const { credentials } = await lists.credentials({ kind: 'access_token', limit: 500 })
        const revoked = await Promise.all(credentials.map(({ id }) => good.revokeCredential({ id }, at)))
        return { tokens: revoked.filter(Boolean).length, codes: 501 }
      },
    }),
  })),
  ...(['tokens', 'codes', 'idempotency'] as const).map((what): Mistake => ({
    what: `purges a thousand rows and no more (${what})`,
    caughtBy: 'a purge deletes thousands of rows completely',
    change: (good) => ({
      async purgeExpired(at) {
        const counts = await good.purgeExpired(at)
        return { ...counts, [what]: Math.min(1000, counts[what]) }
      },
    }),
  })),
  ...(['tokens', 'codes'] as const).map((what): Mistake => ({
    what: `leaves expired ${what} when access is revoked`,
    caughtBy: 'revoking access ends and counts expired codes and tokens too',
    change: (good) => ({
      async revokeAccess(which, at) {
        const counts = await good.revokeAccess(which, at)
        return { ...counts, [what]: 0 }
      },
    }),
  })),
  {
    what: 'ends five hundred of the codes of a client',
    caughtBy: 'a revoked client with five hundred and one codes has none left',
    change(good) {
      let codes = 0
      return {
        insertAuthorizationCode(hash, code) {
          codes += 1
          return good.insertAuthorizationCode(hash, codes > 500 ? { ...code, clientId: 'another' } : code)
        },
      }
    },
  },
  {
    what: 'leaves the codes of a client that was revoked before',
    caughtBy: 'revoking a client that is revoked or unknown ends its codes too',
    change: (good) => ({
      async revokeClient(clientId, at) {
        const revokedAt = (await good.findClient(clientId))?.revokedAt ?? null
        return revokedAt === null && good.revokeClient(clientId, at)
      },
    }),
  },
  {
    what: 'leaves the codes of a client that it does not know',
    caughtBy: 'revoking a client that is revoked or unknown ends its codes too',
    change: (good) => ({
      revokeClient: async (clientId, at) =>
        (await good.findClient(clientId)) !== null && good.revokeClient(clientId, at),
    }),
  },
])
