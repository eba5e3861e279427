import { setTimeout as sleep } from 'node:timers/promises'
import { StorageError } from 'utility-api/storage'
import { testMistakes, type Mistake } from './support/mistake.ts'

/** The same mistake, caught with one instance and with two. */
function both(what: string, [one, two]: readonly [string, string], change: Mistake['change']): Mistake[] {
  return [
    { what, caughtBy: one, change },
    { what: `${what}, on two servers`, caughtBy: two, second: true, change },
  ]
}

/** What the instances of one adapter share. Each case has its own keys. */
const [ends, purged] = [new Map<string, number>(), new Set<string>()]

const writeBacks = [
  ['gives a client a new name', 'updateClient'],
  ['rotates a secret', 'rotateClientSecret'],
  ['revokes a client', 'revokeClient'],
] as const

testMistakes([
  {
    what: 'acknowledges a rotation before it is made',
    caughtBy: 'random bursts over two instances',
    second: true,
    change: (good) => ({
      async rotateClientSecret(clientId, newHash) {
        if ((await good.findClient(clientId)) === null) return false
        setImmediate(() => good.rotateClientSecret(clientId, newHash))
        return true
      },
    }),
  },
  ...both(
    'reads that an idempotency key has expired, then takes it over',
    [
      'twenty repeats at once of a request that was forgotten',
      'twenty repeats over two instances of a request',
    ],
    (good) => {
      const expiries = new Map<string, number>()
      return {
        async insertLicense(license, idempotency) {
          if (idempotency === undefined) return good.insertLicense(license)
          const key = idempotency.keyHash.join()
          const hasExpired = (expiries.get(key) ?? Infinity) <= idempotency.at
          await sleep(1)
          expiries.set(key, idempotency.expiresAt ?? Infinity)
          return good.insertLicense(license, hasExpired ? undefined : idempotency)
        },
      }
    },
  ),
  {
    what: 'takes an expired idempotency key over for a license that it then refuses',
    caughtBy: 'inserting a key that exists leaves an expired idempotency key expired',
    change(good) {
      const seen = new Set<string>()
      return {
        async insertLicense(license, idempotency) {
          const isKnown = idempotency !== undefined && seen.has(idempotency.keyHash.join())
          if (idempotency !== undefined) seen.add(idempotency.keyHash.join())
          if (!isKnown || (await good.findLicense(license.licenseKey)) === null)
            return good.insertLicense(license, idempotency)
          const lost = { ...license, licenseKey: `${license.licenseKey}-lost` }
          const result = await good.insertLicense(lost, idempotency)
          return result === 'inserted' ? 'key_taken' : result
        },
      }
    },
  },
  ...both(
    'looks whether a license key is free before it stores an idempotency key with it',
    [
      'twenty callers insert one key, each with an',
      'twenty callers with idempotency keys insert one key over two',
    ],
    (good) => ({
      async insertLicense(license, idempotency) {
        if ((await good.findLicense(license.licenseKey)) !== null) return 'key_taken'
        await sleep(1)
        await good.insertLicense(license, idempotency)
        return 'inserted'
      },
    }),
  ),
  {
    what: 'lets one caller in each turn of the event loop spend a code',
    caughtBy: 'fifty callers redeem one code: one token',
    change(good) {
      const spent = new Set<string>()
      return {
        async redeemAuthorizationCode(hash, at, token) {
          if (spent.has(hash.join())) return false
          spent.add(hash.join())
          setImmediate(() => spent.clear())
          if (await good.redeemAuthorizationCode(hash, at, token)) return true
          const { hash: tokenHash, ...rest } = token
          await good.insertCredential('access_token', tokenHash, { ...rest, revokedAt: null })
          return true
        },
      }
    },
  },
  ...both(
    'tests who owns a license, then writes',
    ['an update while a license changes hands', 'an update elsewhere while a license changes hands'],
    (good) => ({
      async updateLicense({ licenseKey, resellerId, patch, at }) {
        const license = await good.findLicense(licenseKey)
        if (license === null) return 'not_found'
        if (license.resellerId !== resellerId) return 'not_owner'
        await sleep(1)
        return (await good.changeLicense(licenseKey, patch, at)) ? 'updated' : 'not_found'
      },
    }),
  ),
  ...both(
    'stores the whole license again when it is updated',
    ['a license deleted while it is changed stays deleted', 'an update of a license being deleted'],
    (good) => ({
      async updateLicense(update) {
        const license = await good.findLicense(update.licenseKey)
        await sleep(1)
        if (license !== null) await good.insertLicense(license)
        return good.updateLicense(update)
      },
    }),
  ),
  {
    what: 'stores the whole license again when the owner of the service changes it',
    caughtBy: 'a license deleted while it is changed stays deleted',
    change: (good) => ({
      async changeLicense(licenseKey, change, at) {
        const license = await good.findLicense(licenseKey)
        await sleep(1)
        if (license !== null) await good.insertLicense(license)
        return good.changeLicense(licenseKey, change, at)
      },
    }),
  },
  {
    what: 'looks whether there is a license, then deletes it',
    caughtBy: 'twenty callers delete one license',
    change: (good) => ({
      async deleteLicense(licenseKey) {
        const license = await good.findLicense(licenseKey)
        await sleep(1)
        await good.deleteLicense(licenseKey)
        return license !== null
      },
    }),
  },
  {
    what: 'looks whether a client is revoked, then revokes it',
    caughtBy: 'twenty callers revoke one client',
    change: (good) => ({
      async revokeClient(clientId, at) {
        const client = await good.findClient(clientId)
        await sleep(1)
        await good.revokeClient(clientId, at)
        return client?.revokedAt === null
      },
    }),
  },
  ...writeBacks.flatMap(([what, method]) =>
    both(
      `writes back the redirect URIs that it read when it ${what}`,
      ['concurrent changes of all that a client has', 'changes of a client over two instances'],
      (good) => ({
        async [method](clientId: string, ...args: unknown[]) {
          const client = await good.findClient(clientId)
          const call = good[method] as (...all: unknown[]) => Promise<boolean>
          if (client === null || (args[0] as { redirectUris?: unknown }).redirectUris !== undefined)
            return call(clientId, ...args)
          await sleep(1)
          await good.updateClient(clientId, { redirectUris: client.redirectUris })
          return call(clientId, ...args)
        },
      }),
    ),
  ),
  {
    what: 'looks whether the id of a credential is free, then stores it',
    caughtBy: 'twenty callers insert credentials of one id',
    change(good) {
      const ids = new Set<string>()
      return {
        async insertCredential(kind, hash, credential) {
          if (ids.has(credential.id)) throw new StorageError('conflict', 'taken')
          await sleep(1)
          ids.add(credential.id)
          return good.insertCredential(kind, hash, { ...credential, id: hash.join() })
        },
      }
    },
  },
  {
    what: 'looks whether the hash of a credential is free, then stores it',
    caughtBy: 'twenty callers insert credentials of one hash',
    change: (good) => ({
      async insertCredential(kind, hash, credential) {
        if ((await good.findCredential(kind, hash)) !== null) throw new StorageError('conflict', 'taken')
        await sleep(1)
        try {
          return await good.insertCredential(kind, hash, credential)
        } catch {
          return 'inserted'
        }
      },
    }),
  },
  {
    what: 'looks whether the id of a token is free, then spends the code',
    caughtBy: 'twenty exchanges for tokens of one id',
    change(good) {
      const ids = new Set<string>()
      return {
        async redeemAuthorizationCode(hash, at, token) {
          if (ids.has(token.id)) throw new StorageError('conflict', 'taken')
          await sleep(1)
          ids.add(token.id)
          return good.redeemAuthorizationCode(hash, at, { ...token, id: hash.join() })
        },
      }
    },
  },
  ...[0, 2].flatMap((lateMs) =>
    both(
      `purges the idempotency keys that had expired a moment ago, ${lateMs} ms late`,
      [
        'a purge keeps an idempotency key that is renewed',
        'a purge keeps an idempotency key that another instance',
      ],
      (good) => ({
        insertLicense(license, idempotency) {
          if (idempotency === undefined) return good.insertLicense(license)
          const key = idempotency.keyHash.join()
          ends.set(key, idempotency.expiresAt ?? Infinity)
          return good.insertLicense(license, purged.delete(key) ? undefined : idempotency)
        },
        async purgeExpired(at) {
          if (lateMs > 0) await sleep(lateMs)
          const expired = [...ends].filter(([, expiresAt]) => expiresAt <= at)
          await sleep(1)
          for (const [key] of expired) purged.add(key)
          return good.purgeExpired(at)
        },
      }),
    ),
  ),
])
