import { setTimeout as sleep } from 'node:timers/promises'
import type { AdminStorage, License, NewIdempotencyKey, UtilityStorage } from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'
import { expect, test } from 'vitest'
import { storageContract, type StorageFixture } from '../../src/testing/storage-contract.ts'

/** A mistake that adapters are really made with, and the beginning of the name of the case that must catch it. */
interface Mistake {
  readonly what: string
  readonly caughtBy: string
  readonly change: (good: AdminStorage) => Partial<AdminStorage>
  /** Another instance on the same data. */
  readonly second?: boolean
}

async function replaceLicense(good: AdminStorage, license: License): Promise<void> {
  const { licenseKey, resellerId, registeredTo, domainOrIp, status, updatedAt } = license
  const patch = { registeredTo, domainOrIp, status }
  await good.updateLicense({ licenseKey, resellerId, patch, at: updatedAt })
}

function cutAtZero(hash: Uint8Array): Uint8Array {
  return hash.map((byte, index) => (index > hash.indexOf(0) ? 0 : byte))
}

const mistakes: readonly Mistake[] = [
  {
    what: 'takes empty text for none',
    caughtBy: 'an update to empty text is one, ',
    change: (good) => ({
      updateLicense: ({ patch, ...update }) =>
        good.updateLicense({
          ...update,
          patch: Object.fromEntries(Object.entries(patch).filter(([, text]) => text !== '')),
        }),
    }),
  },
  {
    what: 'keeps times of changes in 32 bits',
    caughtBy: 'times of changes keep every millisecond too, ',
    change: (good) => ({ revokeClient: (clientId, at) => good.revokeClient(clientId, at | 0) }),
  },
  {
    what: 'cuts identifiers at a separator',
    caughtBy: 'identifiers with separators in them stay apart, ',
    change: (good) => ({
      listLicenses: ({ resellerId = '', ...page }) =>
        good.listLicenses({ ...page, resellerId: resellerId.split(':')[0] ?? '' }),
    }),
  },
  {
    what: 'reads the code, then spends it',
    caughtBy: 'fifty callers with one code: ',
    change: (good) => ({
      async redeemAuthorizationCode(codeHash, at, token) {
        const code = await good.findAuthorizationCode(codeHash)
        if (code === null || code.redeemedAt !== null) return false
        await sleep(1)
        await good.redeemAuthorizationCode(codeHash, at, token)
        await Promise.resolve(
          good.insertCredential('access_token', token.hash, { ...token, revokedAt: null }),
        ).catch(() => {})
        return true
      },
    }),
  },
  {
    what: 'serialises within one process only',
    caughtBy: 'fifty callers with one code over two instances: ',
    second: true,
    change: (good) => {
      const spent = new Set<string>()
      return {
        async redeemAuthorizationCode(codeHash, at, token) {
          const key = codeHash.join()
          const code = await good.findAuthorizationCode(codeHash)
          if (code === null || code.redeemedAt !== null || spent.has(key)) return false
          spent.add(key)
          await sleep(1)
          await good.redeemAuthorizationCode(codeHash, at, token)
          return true
        },
      }
    },
  },
  {
    what: 'spends the code in one transaction and stores the token in another',
    caughtBy: 'a token that cannot be stored leaves its code unspent',
    change: (good) => ({
      async redeemAuthorizationCode(codeHash, at, token) {
        const spare = { ...token, id: `spare-${token.id}`, hash: codeHash }
        if (!(await good.redeemAuthorizationCode(codeHash, at, spare))) return false
        const { id, ownerId, scope, expiresAt } = token
        await good.insertCredential('access_token', token.hash, {
          id,
          ownerId,
          scope,
          expiresAt,
          revokedAt: null,
        })
        return true
      },
    }),
  },
  {
    what: 'commits neighbours together and fails them together',
    caughtBy: 'one write that fails does not fail those beside it',
    change: (good) => {
      let failed = false
      return {
        async redeemAuthorizationCode(codeHash, at, token) {
          try {
            const won = await good.redeemAuthorizationCode(codeHash, at, token)
            await sleep(1)
            if (failed) throw new Error('the batch failed')
            return won
          } catch (error) {
            failed = true
            throw error
          }
        },
      }
    },
  },
  {
    what: 'judges expiry by the clock of the machine',
    caughtBy: 'expiry is not judged by the store',
    change: (good) => ({
      async findAuthorizationCode(codeHash) {
        const code = await good.findAuthorizationCode(codeHash)
        return code === null || code.expiresAt < Date.now() ? null : code
      },
    }),
  },
  {
    what: 'hides spent codes',
    caughtBy: 'a spent code stays spent and stays visible',
    change: (good) => ({
      async findAuthorizationCode(codeHash) {
        const code = await good.findAuthorizationCode(codeHash)
        return code?.redeemedAt === null ? code : null
      },
    }),
  },
  {
    what: 'does nothing when asked to revoke what a code bought',
    caughtBy: 'revoking what a code bought',
    change: () => ({ revokeAccessTokensOfCode: () => 0 }),
  },
  {
    what: 'keeps hashes as text that ends at a zero byte',
    caughtBy: 'hashes are compared whole',
    change: (good) => ({
      findCredential: (kind, hash) => good.findCredential(kind, cutAtZero(hash)),
      insertCredential: (kind, hash, credential) => good.insertCredential(kind, cutAtZero(hash), credential),
    }),
  },
  {
    what: 'looks credentials up by hash alone',
    caughtBy: 'a credential is found under its own kind only',
    change: (good) => ({
      async findCredential(_kind, hash) {
        return (
          (await good.findCredential('api_key', hash)) ??
          (await good.findCredential('reseller_token', hash)) ??
          good.findCredential('access_token', hash)
        )
      },
    }),
  },
  {
    what: 'caches credentials in the process',
    caughtBy: 'a credential revoked through one instance is revoked in all',
    second: true,
    change: (good) => {
      const cache = new Map<string, ReturnType<AdminStorage['findCredential']>>()
      return {
        findCredential(kind, hash) {
          const found = cache.get(kind + hash.join()) ?? good.findCredential(kind, hash)
          cache.set(kind + hash.join(), found)
          return found
        },
      }
    },
  },
  {
    what: 'throws what the driver throws',
    caughtBy: 'a hash or id that is taken is a conflict',
    change: (good) => ({
      async insertCredential(kind, hash, credential) {
        if ((await good.findCredential(kind, hash)) !== null) throw new Error('UNIQUE constraint failed')
        await good.insertCredential(kind, hash, credential)
      },
    }),
  },
  {
    what: 'upserts clients',
    caughtBy: 'twenty callers create one client',
    change: (good) => ({
      async insertClient(client) {
        await good.insertClient(client)
        await good.setClientSecrets(client.clientId, client.secretHashes)
        return 'inserted' as const
      },
    }),
  },
  {
    what: 'moves the time of a revocation',
    caughtBy: 'a client is revoked once and keeps the time',
    change: (good) => ({
      async revokeClient(clientId, at) {
        await good.revokeClient(clientId, at)
        return (await good.findClient(clientId)) !== null
      },
    }),
  },
  {
    what: 'looks whether a license key is free, then inserts',
    caughtBy: 'twenty callers with one key: ',
    change: (good) => ({
      async insertLicense(license, idempotency) {
        if (idempotency === undefined && (await good.getLicense(license.licenseKey)) !== null)
          return 'key_taken'
        await sleep(1)
        const result = await good.insertLicense(license, idempotency)
        return result === 'key_taken' && idempotency === undefined ? 'inserted' : result
      },
    }),
  },
  {
    what: 'overwrites the licence under a key that is taken',
    caughtBy: 'a key that is taken leaves its licence as it is',
    change: (good) => ({
      async insertLicense(license, idempotency) {
        const result = await good.insertLicense(license, idempotency)
        const existing = result === 'key_taken' ? await good.getLicense(license.licenseKey) : null
        if (existing) await replaceLicense(good, { ...license, resellerId: existing.resellerId })
        return result
      },
    }),
  },
  {
    what: 'reads a licence, changes it and writes all of it back',
    caughtBy: 'parallel updates of different fields all stay',
    change: (good) => ({
      async updateLicense(update) {
        const license = await good.getLicense(update.licenseKey)
        if (license === null) return 'not_found'
        if (license.resellerId !== update.resellerId) return 'not_owner'
        await sleep(1)
        await replaceLicense(good, { ...license, ...update.patch, updatedAt: update.at })
        return 'updated'
      },
    }),
  },
  {
    what: 'writes first and asks for the owner afterwards',
    caughtBy: 'another reseller changes nothing',
    change: (good) => ({
      async updateLicense(update) {
        const license = await good.getLicense(update.licenseKey)
        if (license === null) return 'not_found'
        await good.updateLicense({ ...update, resellerId: license.resellerId })
        return license.resellerId === update.resellerId ? 'updated' : 'not_owner'
      },
    }),
  },
  {
    what: 'answers a repeat with the licence as it is now',
    caughtBy: 'a repeat gets the first answer as it was given',
    change: (good) => ({
      async insertLicense(license, idempotency) {
        const result = await good.insertLicense(license, idempotency)
        if (typeof result === 'string') return result
        return { ...result, replay: (await good.getLicense(result.replay.licenseKey)) ?? result.replay }
      },
    }),
  },
  {
    what: 'shares idempotency keys between resellers',
    caughtBy: 'the same idempotency key of another reseller is another key',
    change: (good) => ({
      insertLicense: (license, idempotency) =>
        good.insertLicense(license, idempotency && { ...idempotency, resellerId: 'all' }),
    }),
  },
  {
    what: 'stores the idempotency key before the licence',
    caughtBy: 'a license key that is taken leaves no idempotency key behind',
    change: (good) => ({
      async insertLicense(license, idempotency) {
        if (idempotency === undefined || (await good.getLicense(license.licenseKey)) === null) {
          return good.insertLicense(license, idempotency)
        }
        const result = await good.insertLicense(
          { ...license, licenseKey: `${license.licenseKey}-lost` },
          idempotency,
        )
        return result === 'inserted' ? 'key_taken' : result
      },
    }),
  },
  {
    what: 'compares keys without regard to case',
    caughtBy: 'keys and identifiers are compared byte for byte',
    change: (good) => ({
      insertLicense: (license: License, idempotency?: NewIdempotencyKey) =>
        good.insertLicense({ ...license, licenseKey: license.licenseKey.toLowerCase() }, idempotency),
      getLicense: (licenseKey) => good.getLicense(licenseKey.toLowerCase()),
    }),
  },
  {
    what: 'turns text that looks like a number into one',
    caughtBy: 'all of Unicode comes back unchanged',
    change: (good) => ({
      async getLicense(licenseKey) {
        const license = await good.getLicense(licenseKey)
        const number = Number(license?.registeredTo || Number.NaN)
        return (
          license && { ...license, registeredTo: Number.isNaN(number) ? license.registeredTo : `${number}` }
        )
      },
    }),
  },
  {
    what: 'hands out the rows it keeps',
    caughtBy: 'what a store hands out is a copy',
    change: (good) => {
      const rows = new Map<string, Promise<License | null>>()
      return {
        getLicense(licenseKey) {
          const row = rows.get(licenseKey) ?? Promise.resolve(good.getLicense(licenseKey))
          rows.set(licenseKey, row)
          return row
        },
      }
    },
  },
  {
    what: 'pages by time of creation',
    caughtBy: 'licences of one millisecond are all listed',
    change: (good) => ({
      async listLicenses({ after = '-1', limit, ...rest }) {
        const all = await good.listLicenses({ ...rest, limit: 1000 })
        const later = all.licenses.filter((license) => license.createdAt > Number(after))
        const licenses = later.slice(0, limit)
        const last = licenses.at(-1)
        return later.length > limit && last ? { licenses, next: String(last.createdAt) } : { licenses }
      },
    }),
  },
  {
    what: 'pages by offset, newest first',
    caughtBy: 'inserts and updates between two pages leave no gap',
    change: (good) => ({
      async listLicenses({ after = '0', limit, ...rest }) {
        const all = (await good.listLicenses({ ...rest, limit: 1000 })).licenses.toReversed()
        const licenses = all.slice(Number(after), Number(after) + limit)
        const next = Number(after) + limit
        return next < all.length ? { licenses, next: String(next) } : { licenses }
      },
    }),
  },
  {
    what: 'always offers a next page',
    caughtBy: 'the last page has no next',
    change: (good) => ({
      async listLicenses(page) {
        const { licenses, next = String(licenses.length) } = await good.listLicenses(page)
        return { licenses, next }
      },
    }),
  },
  {
    what: 'purges spent codes while their tokens live',
    caughtBy: 'a purge keeps a spent code while its token lives',
    change: (good) => {
      const gone = new Set<string>()
      const issued = new Map<string, { readonly hash: Uint8Array; readonly expiresAt: number }>()
      return {
        insertAuthorizationCode(hash, code) {
          issued.set(hash.join(), { hash, expiresAt: code.expiresAt })
          return good.insertAuthorizationCode(hash, code)
        },
        async purgeExpired(at) {
          for (const [key, { expiresAt }] of issued) if (expiresAt <= at) gone.add(key)
          return good.purgeExpired(at)
        },
        revokeAccessTokensOfCode: (hash, at) =>
          gone.has(hash.join()) ? 0 : good.revokeAccessTokensOfCode(hash, at),
      }
    },
  },
  {
    what: 'goes on answering after close',
    caughtBy: 'a closed store says unavailable',
    change: () => ({ close() {} }),
  },
]

function makeBroken({ change, second }: Mistake): StorageFixture {
  const good = memoryStorage()
  const storage = { ...good, ...change(good) }
  return { storage, close() {}, ...(second ? { second: { ...good, ...change(good) } } : {}) }
}

test.each(mistakes)('an adapter that $what is caught', async (mistake) => {
  const outcomes = await Promise.all(
    storageContract(() => makeBroken(mistake)).map(async ({ name, run }) => {
      const failed = await run().then(
        () => false,
        () => true,
      )
      return failed ? [name] : []
    }),
  )
  const caughtBy = outcomes.flat()
  expect(
    caughtBy.filter((name) => name.startsWith(mistake.caughtBy)),
    caughtBy.join('\n'),
  ).toHaveLength(1)
})

test('names of cases are unique, so that a report says which one failed', () => {
  const names = storageContract(() => ({ storage: memoryStorage(), close() {} })).map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
})

/** The seven methods alone, as an adapter to tables of one's own would have them. */
function sevenMethods(store: AdminStorage = memoryStorage()): UtilityStorage {
  const { findClient, findAuthorizationCode, redeemAuthorizationCode, ...rest } = store
  const { revokeAccessTokensOfCode, findCredential, insertLicense, updateLicense } = rest
  return {
    findClient,
    findAuthorizationCode,
    redeemAuthorizationCode,
    revokeAccessTokensOfCode,
    findCredential,
    insertLicense,
    updateLicense,
  }
}

test('a store without provisioning and without a seed leaves cases not applicable, not green', async () => {
  const cases = storageContract(() => ({ storage: sevenMethods(), close() {} }))
  const outcomes = await Promise.all(cases.map(({ run }) => run()))
  const needNoSeed = [
    'an unknown code',
    'an update of an unknown key',
    'a repeat gets',
    'a repeat is answered',
  ]
  const passed = cases.filter((_, index) => outcomes[index] === 'passed').map(({ name }) => name)
  expect(passed.length).toBeLessThan(10)
  expect(passed.filter((name) => needNoSeed.some((start) => name.startsWith(start)))).toHaveLength(4)
})

test('a store of seven methods is covered by way of a seed', async () => {
  const cases = storageContract(() => {
    const seed = memoryStorage()
    const storage = sevenMethods(seed)
    return { storage, seed, close() {} }
  })
  const outcomes = await Promise.all(cases.map(({ run }) => run()))
  expect(outcomes.filter((outcome) => outcome === 'passed').length).toBeGreaterThan(30)
})
