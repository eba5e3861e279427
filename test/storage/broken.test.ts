import { setTimeout as sleep } from 'node:timers/promises'
import { StorageError } from 'utility-api/storage'
import type {
  AdminStorage,
  AuthorizationCode,
  Client,
  License,
  MaybePromise,
  NewIdempotencyKey,
  StorageListing,
  UtilityStorage,
} from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'
import { expect, test } from 'vitest'
import type { BoundAdmin, BoundListing } from '../../src/testing/contract/bound.ts'
import { storageContract } from '../../src/testing/storage-contract.ts'
import { testMistakes, type Mistake } from './support/mistake.ts'

async function replaceLicense(good: BoundAdmin, license: License): Promise<void> {
  const { licenseKey, resellerId, registeredTo, domainOrIp, status, updatedAt } = license
  const patch = { registeredTo, domainOrIp, status }
  await good.updateLicense({ licenseKey, resellerId, patch, at: updatedAt })
}

function cutAtZero(hash: Uint8Array): Uint8Array {
  return hash.map((byte, index) => (index > hash.indexOf(0) ? 0 : byte))
}

function pagedByTime(lists: BoundListing): StorageListing['licenses'] {
  return async ({ after = '-1', limit, ...rest }) => {
    const all = await lists.licenses({ ...rest, limit: 1000 })
    const later = all.licenses.filter((license) => license.createdAt > Number(after))
    const licenses = later.slice(0, limit)
    const last = licenses.at(-1)
    return later.length > limit && last ? { licenses, next: String(last.createdAt) } : { licenses }
  }
}

/** A store that keeps the secrets of its clients in a way of its own. */
function rotatingBy(
  good: BoundAdmin,
  secrets: Map<string, readonly Uint8Array[]>,
  rotate: (current: readonly Uint8Array[], newHash: Uint8Array) => MaybePromise<readonly Uint8Array[]>,
): Partial<AdminStorage> {
  async function findClient(clientId: string): Promise<Client | null> {
    const client = await good.findClient(clientId)
    return client && { ...client, secretHashes: secrets.get(clientId) ?? client.secretHashes }
  }
  return {
    findClient,
    async rotateClientSecret(clientId, newHash) {
      const client = await findClient(clientId)
      if (client === null) return false
      secrets.set(clientId, await rotate(client.secretHashes, newHash))
      return true
    },
  }
}

const mistakes: readonly Mistake[] = [
  {
    what: 'takes empty text for none',
    caughtBy: 'an update to empty text is stored, ',
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
    what: 'gives the callers of one moment the rows in the order of the database',
    caughtBy: 'concurrent finds each get their own row, ',
    change(good) {
      let asked: string[] = []
      async function findAll(): Promise<(Client | null)[]> {
        await sleep(1)
        const ids = asked.toSorted()
        asked = []
        return Promise.all(ids.map((id) => good.findClient(id)))
      }
      let found = findAll()
      return {
        async findClient(clientId) {
          if (asked.length === 0) found = findAll()
          const place = asked.push(clientId) - 1
          return (await found)[place] ?? null
        },
      }
    },
  },
  {
    what: 'finds the credentials of one moment by their hash and not by their kind',
    caughtBy: 'concurrent finds each get their own row, ',
    change(good) {
      const finding = new Map<string, ReturnType<typeof good.findCredential>>()
      return {
        findCredential(kind, hash) {
          const key = hash.join()
          const found = finding.get(key) ?? good.findCredential(kind, hash)
          finding.set(key, found)
          void Promise.resolve(found).then(() => finding.delete(key))
          return found
        },
      }
    },
  },
  {
    what: 'cuts identifiers at a separator',
    caughtBy: 'identifiers that contain separators stay distinct, ',
    change: (_, lists) => ({
      licenses: ({ resellerId = '', ...page }) =>
        lists.licenses({ ...page, resellerId: resellerId.split(':')[0] ?? '' }),
    }),
  },
  {
    what: 'reads the code, then spends it',
    caughtBy: 'fifty callers redeem one code: ',
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
    what: 'serializes within one process only',
    caughtBy: 'fifty callers redeem one code over two instances: ',
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
    caughtBy: 'a code stays unspent if its token cannot be stored',
    change: (good) => ({
      async redeemAuthorizationCode(codeHash, at, token) {
        const spare = { ...token, id: `spare-${token.id}`, hash: codeHash }
        if (!(await good.redeemAuthorizationCode(codeHash, at, spare))) return false
        await good.insertCredential('access_token', token.hash, { ...token, revokedAt: null })
        return true
      },
    }),
  },
  {
    what: 'commits neighbors together and fails them together',
    caughtBy: 'a failing write fails no other write of the moment',
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
    caughtBy: 'the store does not check expiry',
    change: (good) => ({
      async findAuthorizationCode(codeHash) {
        const code = await good.findAuthorizationCode(codeHash)
        return code === null || code.expiresAt < Date.now() ? null : code
      },
    }),
  },
  {
    what: 'hides spent codes',
    caughtBy: 'a spent code stays spent and can be found',
    change: (good) => ({
      async findAuthorizationCode(codeHash) {
        const code = await good.findAuthorizationCode(codeHash)
        return code?.redeemedAt === null ? code : null
      },
    }),
  },
  {
    what: 'does nothing when asked to revoke what a code bought',
    caughtBy: "revoking a code's token revokes that token only, once",
    change: () => ({ revokeAccessTokensOfCode: () => 0 }),
  },
  {
    what: 'keeps hashes as text that ends at a zero byte',
    caughtBy: 'hashes are compared completely, bytes 00 and FF included',
    change: (good) => ({
      findCredential: (kind, hash) => good.findCredential(kind, cutAtZero(hash)),
      insertCredential: (kind, hash, credential) => good.insertCredential(kind, cutAtZero(hash), credential),
    }),
  },
  {
    what: 'looks credentials up by hash alone',
    caughtBy: 'a credential is found only under its own kind',
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
    caughtBy: 'inserting a hash or id that exists is a conflict and leaves its row',
    change: (good) => ({
      async insertCredential(kind, hash, credential) {
        if ((await good.findCredential(kind, hash)) !== null) throw new Error('UNIQUE constraint failed')
        return good.insertCredential(kind, hash, credential)
      },
    }),
  },
  {
    what: 'keeps the id of a credential that it refuses',
    caughtBy: 'inserting a hash or id that exists is a conflict and leaves its row',
    change(good) {
      const ids = new Set<string>()
      return {
        insertCredential(kind, hash, credential) {
          if (ids.has(credential.id)) throw new StorageError('conflict', 'taken')
          ids.add(credential.id)
          return good.insertCredential(kind, hash, credential)
        },
      }
    },
  },
  {
    what: 'upserts clients',
    caughtBy: 'twenty callers insert one client: one succeeds',
    change: (good) => ({
      async insertClient(client) {
        await good.insertClient(client)
        await good.rotateClientSecret(client.clientId, client.secretHashes[0] ?? new Uint8Array(32))
        return 'inserted' as const
      },
    }),
  },
  {
    what: 'forgets the type of a client',
    caughtBy: 'a client keeps its type, and a public one gets no secret',
    change: (good) => ({
      insertClient: ({ clientType: _, ...client }) => good.insertClient(client),
    }),
  },
  {
    what: 'gives a public client a secret',
    caughtBy: 'a client keeps its type, and a public one gets no secret',
    change(good) {
      const isPublic = new Set<string>()
      return {
        async insertClient({ clientType, ...client }) {
          if (clientType === 'public') isPublic.add(client.clientId)
          return good.insertClient({ ...client, ...(clientType === 'confidential' && { clientType }) })
        },
        async findClient(clientId) {
          const client = await good.findClient(clientId)
          return client && isPublic.has(clientId) ? { ...client, clientType: 'public' as const } : client
        },
      }
    },
  },
  {
    what: 'moves the time of a revocation',
    caughtBy: 'a client is revoked once and keeps that time',
    change: (good) => ({
      async revokeClient(clientId, at) {
        await good.revokeClient(clientId, at)
        return (await good.findClient(clientId)) !== null
      },
    }),
  },
  {
    what: 'looks whether a license key is free, then inserts',
    caughtBy: 'twenty callers insert one key: ',
    change: (good) => ({
      async insertLicense(license, idempotency) {
        if (idempotency === undefined && (await good.findLicense(license.licenseKey)) !== null)
          return 'key_taken'
        await sleep(1)
        const result = await good.insertLicense(license, idempotency)
        return result === 'key_taken' && idempotency === undefined ? 'inserted' : result
      },
    }),
  },
  {
    what: 'overwrites the license under a key that is taken',
    caughtBy: 'inserting a key that exists leaves its license unchanged',
    change: (good) => ({
      async insertLicense(license, idempotency) {
        const result = await good.insertLicense(license, idempotency)
        const existing = result === 'key_taken' ? await good.findLicense(license.licenseKey) : null
        if (existing) await replaceLicense(good, { ...license, resellerId: existing.resellerId })
        return result
      },
    }),
  },
  {
    what: 'reads a license, changes it and writes all of it back',
    caughtBy: 'concurrent updates of different fields all take effect',
    change: (good) => ({
      async updateLicense(update) {
        const license = await good.findLicense(update.licenseKey)
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
    caughtBy: "another reseller's update changes nothing",
    change: (good) => ({
      async updateLicense(update) {
        const license = await good.findLicense(update.licenseKey)
        if (license === null) return 'not_found'
        await good.updateLicense({ ...update, resellerId: license.resellerId })
        return license.resellerId === update.resellerId ? 'updated' : 'not_owner'
      },
    }),
  },
  {
    what: 'shares idempotency keys between resellers',
    caughtBy: 'each reseller has its own idempotency keys',
    change: (good) => ({
      insertLicense: (license, idempotency) =>
        good.insertLicense(license, idempotency && { ...idempotency, resellerId: 'all' }),
    }),
  },
  {
    what: 'stores the idempotency key before the license',
    caughtBy: 'inserting a key that exists stores no idempotency key',
    change: (good) => ({
      async insertLicense(license, idempotency) {
        if (idempotency === undefined || (await good.findLicense(license.licenseKey)) === null) {
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
      findLicense: (licenseKey) => good.findLicense(licenseKey.toLowerCase()),
    }),
  },
  {
    what: 'turns text that looks like a number into one',
    caughtBy: 'all of Unicode is read back unchanged',
    change: (good) => ({
      async findLicense(licenseKey) {
        const license = await good.findLicense(licenseKey)
        const number = Number(license?.registeredTo || Number.NaN)
        return (
          license && { ...license, registeredTo: Number.isNaN(number) ? license.registeredTo : `${number}` }
        )
      },
    }),
  },
  {
    what: 'hands out the rows it keeps',
    caughtBy: 'values that a store returns are copies',
    change: (good) => {
      const rows = new Map<string, Promise<License | null>>()
      return {
        findLicense(licenseKey) {
          const row = rows.get(licenseKey) ?? Promise.resolve(good.findLicense(licenseKey))
          rows.set(licenseKey, row)
          return row
        },
      }
    },
  },
  {
    what: 'pages licenses by time of creation',
    caughtBy: 'licenses of one millisecond are all listed once',
    change: (_, lists) => ({ licenses: pagedByTime(lists) }),
  },
  {
    what: 'pages by offset',
    caughtBy: 'three hundred licenses are listed once each while others are deleted',
    change: (_, lists) => ({
      async licenses({ after = '0', limit, ...rest }) {
        if (!/^\d+$/.test(after)) throw new StorageError('invalid', 'no mark')
        const all = (await lists.licenses({ ...rest, limit: 1000 })).licenses
        const next = Number(after) + limit
        const page = { licenses: all.slice(Number(after), next) }
        return next < all.length ? { ...page, next: String(next) } : page
      },
    }),
  },
  {
    what: 'lists newest first',
    caughtBy: 'licenses of one millisecond are listed in the order of insertion',
    change: (_, lists) => ({
      async licenses(page) {
        const { licenses, ...next } = await lists.licenses(page)
        return { licenses: licenses.toReversed(), ...next }
      },
    }),
  },
  {
    what: 'sorts clients by name',
    caughtBy: 'clients are listed oldest first',
    change: (_, lists) => ({
      async clients(page) {
        const { clients, ...next } = await lists.clients(page)
        return { clients: clients.toSorted((a, b) => (a.clientId < b.clientId ? -1 : 1)), ...next }
      },
    }),
  },
  {
    what: 'lists what was stored a page ago',
    caughtBy: 'three hundred access tokens are listed once each while others are purged',
    change: (_, lists) => ({
      async credentials({ after = '0', limit, ...rest }) {
        if (!/^\d+$/.test(after)) throw new StorageError('invalid', 'no mark')
        const all = (await lists.credentials({ ...rest, limit: 1000 })).credentials
        const next = Number(after) + limit
        const page = { credentials: all.slice(Number(after), next) }
        return next < all.length ? { ...page, next: String(next) } : page
      },
    }),
  },
  {
    what: 'lists the credentials of everybody under one owner',
    caughtBy: 'the list of one reseller has all of its licenses and no others',
    change: (_, lists) => ({
      credentials: ({ ownerId: _owner, ...page }) => lists.credentials(page),
    }),
  },
  {
    what: 'calls every credential an API key',
    caughtBy: 'lists have complete rows of their own kind only',
    change: (_, lists) => ({
      async credentials(page) {
        const { credentials, ...next } = await lists.credentials(page)
        return { credentials: credentials.map((row) => ({ ...row, kind: 'api_key' as const })), ...next }
      },
    }),
  },
  {
    what: 'counts what it has ever stored',
    caughtBy: 'licenses are counted, in all and by reseller',
    change: (good) => {
      let stored = 0
      return {
        insertLicense(license, idempotency) {
          stored += 1
          return good.insertLicense(license, idempotency)
        },
        countLicenses: () => stored,
      }
    },
  },
  {
    what: 'moves a row that was changed to the end',
    caughtBy: 'changes between two pages move no row',
    change: (good) => ({
      async changeLicense(licenseKey, change, at) {
        const license = await good.findLicense(licenseKey)
        if (license === null) return false
        await good.deleteLicense(licenseKey)
        await good.insertLicense({ ...license, ...change, updatedAt: at })
        return true
      },
    }),
  },
  {
    what: 'starts over at a mark that is none',
    caughtBy: 'an invalid page mark is refused',
    change: (_, lists) => ({
      resellers: ({ after, limit }) =>
        lists.resellers({ limit, ...(/^\d+$/.test(after ?? '') && { after: after ?? '' }) }),
    }),
  },
  {
    what: 'always offers a next page',
    caughtBy: 'the last page has no next mark, full or not',
    change: (_, lists) => ({
      async licenses(page) {
        const { licenses, next = String(licenses.length) } = await lists.licenses(page)
        return { licenses, next }
      },
    }),
  },
  {
    what: 'goes on listing after close',
    caughtBy: 'lists of a closed store fail with unavailable',
    change: () => ({ listing: memoryStorage().listing as StorageListing }),
  },
  {
    what: 'forgets whose a token is',
    caughtBy: 'a token keeps the subject of its code',
    change: (good) => ({
      redeemAuthorizationCode: (hash, at, token) =>
        good.redeemAuthorizationCode(hash, at, { ...token, subject: null }),
    }),
  },
  {
    what: 'revokes a client and leaves its codes',
    caughtBy: 'a revoked client has no unspent code and keeps its tokens',
    change: (good) => {
      const revoked = new Map<string, number>()
      return {
        async revokeClient(clientId, at) {
          const client = await good.findClient(clientId)
          if (client === null || revoked.has(clientId)) return false
          revoked.set(clientId, at)
          return true
        },
        async findClient(clientId) {
          const client = await good.findClient(clientId)
          return client && { ...client, revokedAt: revoked.get(clientId) ?? client.revokedAt }
        },
      }
    },
  },
  {
    what: 'looks whether the client is live, then stores the code',
    caughtBy: 'a client revoked while its codes are issued and spent has no unspent code',
    change: (good) => ({
      async insertAuthorizationCode(hash, code) {
        const client = await good.findClient(code.clientId)
        if (client !== null && client.revokedAt !== null) throw new StorageError('conflict', 'revoked')
        await sleep(1)
        // As a store would that has decided already.
        await good.insertAuthorizationCode(hash, { ...code, clientId: `${code.clientId} ` })
      },
    }),
  },
  {
    what: 'stores codes of revoked clients',
    caughtBy: 'issuing a code for a revoked client is a conflict',
    change: (good) => ({
      insertAuthorizationCode: (hash, code) =>
        good.insertAuthorizationCode(hash, { ...code, clientId: `${code.clientId} ` }),
    }),
  },
  {
    what: 'revokes tokens first and ends codes afterwards',
    caughtBy: "revoking a client's access while its codes are spent leaves no token",
    change: (good) => ({
      async revokeAccess(which, at) {
        const { tokens } = await good.revokeAccess(which, at)
        return { tokens, codes: 0 }
      },
      async redeemAuthorizationCode(hash, at, token) {
        const code = await good.findAuthorizationCode(hash)
        if (code === null || code.redeemedAt !== null) return false
        await sleep(1)
        if (await good.redeemAuthorizationCode(hash, at, token)) return true
        await good.insertCredential('access_token', token.hash, { ...token, revokedAt: null })
        return true
      },
    }),
  },
  ...(['id', 'hash'] as const).map((way): Mistake => ({
    what: `says yes to each that revokes a credential by its ${way}`,
    caughtBy: 'a credential is revoked by hash and by id, once',
    change(good) {
      const known = new Set<string>()
      return {
        insertCredential(kind, hash, credential) {
          known.add(way === 'id' ? credential.id : hash.join())
          return good.insertCredential(kind, hash, credential)
        },
        async revokeCredential(which, at) {
          const wasLive = await good.revokeCredential(which, at)
          return wasLive || known.has(String(Object.values(which)))
        },
      }
    },
  })),
  {
    what: 'revokes every kind of credential of a client',
    caughtBy: "revoking a client's access ends its tokens and codes and no others",
    change: (good, lists) => ({
      async revokeAccess(which, at) {
        const { credentials } = await lists.credentials({ kind: 'reseller_token', limit: 1000 })
        await Promise.all(credentials.map(({ id }) => good.revokeCredential({ id }, at)))
        return good.revokeAccess(which, at)
      },
    }),
  },
  {
    what: 'revokes every kind of credential of a reseller',
    caughtBy: "revoking a reseller's access ends its tokens and no others",
    change: (good) => ({
      async revokeAccess(which, at) {
        const counts = await good.revokeAccess(which, at)
        if ('resellerId' in which) await good.revokeAccess({ clientId: which.resellerId }, at)
        return counts
      },
    }),
  },
  {
    what: 'goes through the tokens of a reseller once, in the order of their ids',
    caughtBy: "revoking a reseller's access while it gets tokens leaves none that is older",
    change: (good, lists) => ({
      async revokeAccess(which, at) {
        if (!('resellerId' in which)) return good.revokeAccess(which, at)
        let [after, tokens] = ['', 0]
        for (;;) {
          const { credentials } = await lists.credentials({ kind: 'reseller_token', limit: 1000 })
          const ids = credentials.map(({ id }) => id).filter((id) => id > after)
          const [id] = ids.toSorted()
          if (id === undefined) return { tokens, codes: 0 }
          if (await good.revokeCredential({ id }, at)) tokens += 1
          after = id
        }
      },
    }),
  },
  {
    what: 'counts the codes it ends and leaves them',
    caughtBy: "revoking a client's access ends its tokens and codes and no others",
    change: (good) => {
      const kept: [hash: Uint8Array, code: AuthorizationCode][] = []
      return {
        insertAuthorizationCode(hash, code) {
          kept.push([hash, code])
          return good.insertAuthorizationCode(hash, code)
        },
        async revokeAccess(which, at) {
          const spent = await Promise.all(kept.map(([hash]) => good.findAuthorizationCode(hash)))
          const counts = await good.revokeAccess(which, at)
          const ended = kept.filter((_, index) => spent[index]?.redeemedAt === null)
          await Promise.all(
            ended.map(async ([hash, code]) => {
              if ((await good.findAuthorizationCode(hash)) === null)
                await good.insertAuthorizationCode(hash, code)
            }),
          )
          return at < 10 ? counts : { tokens: 0, codes: 0 }
        },
      }
    },
  },
  {
    what: 'compares subjects without regard to case',
    caughtBy: "revoking a subject's access ends its tokens and codes and no others",
    change: (good) => {
      const lower = <Row extends { readonly subject: string | null }>(row: Row): Row => ({
        ...row,
        subject: row.subject?.toLowerCase() ?? null,
      })
      return {
        insertAuthorizationCode: (hash, code) => good.insertAuthorizationCode(hash, lower(code)),
        redeemAuthorizationCode: (hash, at, token) => good.redeemAuthorizationCode(hash, at, lower(token)),
        insertCredential: (kind, hash, row) => good.insertCredential(kind, hash, lower(row)),
        revokeAccess: (which, at) =>
          good.revokeAccess('subject' in which ? { subject: which.subject.toLowerCase() } : which, at),
      }
    },
  },
  {
    what: 'ends spent codes too',
    caughtBy: 'a replay finds nothing to revoke after all access was revoked',
    change: (good) => {
      const gone = new Set<string>()
      return {
        async redeemAuthorizationCode(hash, at, token) {
          gone.add(hash.join())
          return good.redeemAuthorizationCode(hash, at, token)
        },
        async findAuthorizationCode(hash) {
          return gone.has(hash.join()) ? null : good.findAuthorizationCode(hash)
        },
      }
    },
  },
  {
    what: 'reads the secrets, then writes them',
    caughtBy: 'concurrent rotations leave two of the new secrets',
    change: (good) => {
      const secrets = new Map<string, readonly Uint8Array[]>()
      return rotatingBy(good, secrets, async (current, newHash) => {
        await sleep(1)
        return [newHash, ...current.slice(0, 1)]
      })
    },
  },
  {
    what: 'keeps every secret there ever was',
    caughtBy: 'a rotation puts the new secret first and keeps the one before',
    change: (good) => rotatingBy(good, new Map(), (current, newHash) => [newHash, ...current]),
  },
  {
    what: 'needs a secret to make another',
    caughtBy: 'a rotation gives a client without a secret its first one',
    change: (good) => ({
      async rotateClientSecret(clientId, newHash) {
        const client = await good.findClient(clientId)
        return client !== null && client.secretHashes.length > 0 && good.rotateClientSecret(clientId, newHash)
      },
    }),
  },
  {
    what: 'writes a client back whole when it rotates',
    caughtBy: 'a rotation and a revocation at once both take effect',
    change: (good) => {
      const revokedBefore = new Map<string, number | null>()
      return {
        async rotateClientSecret(clientId, newHash) {
          revokedBefore.set(clientId, (await good.findClient(clientId))?.revokedAt ?? null)
          return good.rotateClientSecret(clientId, newHash)
        },
        async findClient(clientId) {
          const client = await good.findClient(clientId)
          return client && { ...client, revokedAt: revokedBefore.get(clientId) ?? null }
        },
      }
    },
  },
  {
    what: 'clears what an update of a client does not say',
    caughtBy: 'an update of a client changes only the fields that were sent',
    change: (good) => ({
      updateClient: (clientId, { redirectUris = [], ...patch }) =>
        good.updateClient(clientId, { ...patch, redirectUris }),
    }),
  },
  {
    what: 'upserts resellers',
    caughtBy: 'inserting a reseller id that exists is taken',
    change: (good) => ({
      async insertReseller(reseller) {
        await good.insertReseller(reseller)
        return 'inserted' as const
      },
    }),
  },
  {
    what: 'loses an empty label of a reseller',
    caughtBy: 'lists have complete rows of their own kind only',
    change: (good) => ({
      insertReseller: ({ name, ...reseller }) => good.insertReseller(name ? { ...reseller, name } : reseller),
    }),
  },
  {
    what: 'stores reseller tokens of nobody',
    caughtBy: 'only a reseller token requires that its owner exists',
    change: (good) => ({
      async insertCredential(kind, hash, credential) {
        await good.insertReseller({ resellerId: credential.ownerId, createdAt: 0 })
        return good.insertCredential(kind, hash, credential)
      },
    }),
  },
  {
    what: 'changes all fields of a license when one was sent',
    caughtBy: "the service's owner changes any license and only the fields that were sent",
    change: (good) => ({
      changeLicense: (licenseKey, change, at) =>
        good.changeLicense(licenseKey, { registeredTo: '', ...change }, at),
    }),
  },
  {
    what: 'keeps the reseller a license was made by',
    caughtBy: 'a license that changes hands can be updated only by its new reseller',
    change: (good) => ({
      changeLicense: (licenseKey, { registeredTo = 'Ada', status = 'valid' }, at) =>
        good.changeLicense(licenseKey, { registeredTo, status }, at),
    }),
  },
  {
    what: 'reads a license, changes it for the owner and writes all of it back',
    caughtBy: 'concurrent changes and updates of different fields all take effect',
    change: (good) => ({
      async changeLicense(licenseKey, change, at) {
        const license = await good.findLicense(licenseKey)
        if (license === null) return false
        await sleep(1)
        const { registeredTo, domainOrIp, status } = license
        return good.changeLicense(licenseKey, { registeredTo, domainOrIp, status, ...change }, at)
      },
    }),
  },
  {
    what: 'marks licenses as deleted and goes on finding them',
    caughtBy: 'deleting a license deletes it everywhere and deletes no other',
    change: (good) => {
      const deleted = new Set<string>()
      return {
        async deleteLicense(licenseKey) {
          if (deleted.has(licenseKey) || (await good.findLicense(licenseKey)) === null) return false
          deleted.add(licenseKey)
          return true
        },
      }
    },
  },
  {
    what: 'takes a license that is gone for the license of another',
    caughtBy: 'an update of a license being deleted is made or finds none',
    second: true,
    change: (good) => ({
      async updateLicense(update) {
        const result = await good.updateLicense(update)
        return result === 'not_found' ? 'not_owner' : result
      },
    }),
  },
  {
    what: 'deletes the idempotency keys of a license with it',
    caughtBy: 'a repeat gets the key of a license that was changed, moved or deleted since',
    change: (good) => {
      const deleted = new Set<string>()
      return {
        async deleteLicense(licenseKey) {
          deleted.add(licenseKey)
          return good.deleteLicense(licenseKey)
        },
        async insertLicense(license, idempotency) {
          const result = await good.insertLicense(license, idempotency)
          if (typeof result === 'string' || !deleted.has(result.replay)) return result
          return good.insertLicense(license)
        },
      }
    },
  },
  {
    what: 'says that a write came too late, and does it later',
    caughtBy: 'a write past its deadline is made and acknowledged or never begins',
    change: (good) => ({
      async insertLicense(license, idempotency, call) {
        await sleep(1)
        const result = await good.insertLicense(license, idempotency)
        if (call.timeLeftMs() <= 0) throw new StorageError('unavailable', 'too late')
        return result
      },
    }),
  },
  {
    what: 'says that an exchange came too late, and spends the code',
    caughtBy: 'a code whose exchange misses its deadline stays unspent',
    change: (good) => ({
      async redeemAuthorizationCode(hash, at, token, call) {
        await sleep(1)
        const won = await good.redeemAuthorizationCode(hash, at, token)
        if (call.timeLeftMs() <= 0) throw new StorageError('unavailable', 'too late')
        return won
      },
    }),
  },
  {
    what: 'cuts identifiers at 64 characters',
    caughtBy: 'identifiers and scopes of every length are read back unchanged',
    change: (good) => ({
      insertAuthorizationCode: (hash, code) =>
        good.insertAuthorizationCode(hash, { ...code, clientId: code.clientId.slice(0, 64) }),
    }),
  },
  {
    what: 'purges spent codes while their tokens live',
    caughtBy: 'a purge keeps a spent code while its token is valid',
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
    what: 'takes an idempotency key without an expiry for an expired one',
    caughtBy: 'an idempotency key without an expiry is never forgotten',
    change: (good) => ({
      insertLicense: (license, idempotency) =>
        good.insertLicense(license, idempotency && { ...idempotency, expiresAt: idempotency.expiresAt ?? 0 }),
    }),
  },
  {
    what: 'asks when the license was created, and not when the request came',
    caughtBy: 'an idempotency key is forgotten at its expiry and not before',
    change: (good) => ({
      insertLicense: (license, idempotency) =>
        good.insertLicense(license, idempotency && { ...idempotency, at: license.createdAt }),
    }),
  },
  {
    what: 'purges idempotency keys without an expiry',
    caughtBy: 'a purge keeps an idempotency key without an expiry',
    change: (good) => {
      let purgedAt = 0
      return {
        purgeExpired: (at) => good.purgeExpired((purgedAt = at)),
        insertLicense: (license, idempotency) =>
          good.insertLicense(license, purgedAt > 0 ? undefined : idempotency),
      }
    },
  },
  {
    what: 'takes no reference and no end away',
    caughtBy: 'a reference and an end are stored, changed and taken away alone',
    change: (good) => ({
      changeLicense(licenseKey, { reference, expiresAt, ...change }, at) {
        const kept = { ...(reference && { reference }), ...(expiresAt && { expiresAt }) }
        return good.changeLicense(licenseKey, { ...change, ...kept }, at)
      },
    }),
  },
  {
    what: 'goes on answering after close',
    caughtBy: 'a closed store fails with unavailable',
    change: () => ({ close() {} }),
  },
  {
    what: 'answers a ping after close',
    caughtBy: 'a closed store fails with unavailable',
    change: () => ({ ping() {} }),
  },
  {
    what: 'keeps the id of a token that it refuses',
    caughtBy: 'a code stays unspent if its token cannot be stored',
    change: (good) => {
      const refused = new Set<string>()
      return {
        async redeemAuthorizationCode(codeHash, at, token) {
          if (refused.has(token.id)) throw new StorageError('conflict', 'The id is taken.')
          refused.add(token.id)
          const isSpent = await good.redeemAuthorizationCode(codeHash, at, token)
          refused.delete(token.id)
          return isSpent
        },
      }
    },
  },
  {
    what: 'purges tokens as soon as they are revoked',
    caughtBy: 'a purge keeps clients, resellers, API keys and licenses',
    change: (good) => {
      let isPurged = false
      return {
        purgeExpired: (at) => ((isPurged = true), good.purgeExpired(at)),
        async findCredential(kind, hash) {
          const row = await good.findCredential(kind, hash)
          return isPurged && kind === 'access_token' && row?.revokedAt !== null ? null : row
        },
      }
    },
  },
]

testMistakes(mistakes)

test('names of cases are unique, so that a report says which one failed', () => {
  const names = storageContract(() => ({ storage: memoryStorage(), close() {} })).map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
})

test('a failing history is reported with its seed, the few calls it needs, and both answers', async () => {
  const cases = storageContract(() => {
    const good = memoryStorage()
    return { storage: { ...good, deleteLicense: () => false }, close() {} }
  })
  const message = await cases
    .find(({ name }) => name.startsWith('a random history'))
    ?.run()
    .then(String, ({ message: text }: Error) => text)
  expect(message).toMatch(
    /^Seed 1: the last of these calls has another answer than the model gives:\n {2}1\. insertLicense/,
  )
  expect(message).toMatch(/\nstore: false\nmodel: true/)
  expect(message?.match(/^ {2}\d+\. /gm)?.length).toBeLessThan(5)
})

test.each([
  [new StorageError('bug', 'This is no page.'), "of kind 'bug': This is no page."],
  [
    Object.assign(new Error('No page'), { name: 'StorageError', kind: 'invalid' }),
    'StorageError: No page (no StorageError of this copy of utility-api)',
  ],
])('a failure of the wrong kind is reported with the kind that it has', async (error, got) => {
  const cases = storageContract(() => {
    const resellers = (): never => {
      throw error
    }
    const good = memoryStorage()
    return { storage: { ...good, listing: { ...good.listing, resellers } as StorageListing }, close() {} }
  })
  const message = await cases
    .find(({ name }) => name.startsWith('an invalid page mark'))
    ?.run()
    .then(String, ({ message: text }: Error) => text)
  expect(message).toBe(`page mark of resellers: expected a StorageError of kind 'invalid', not ${got}`)
})

test.each([
  ['fails', () => Promise.reject(new Error('A connection is still lent.'))],
  ['never ends', () => new Promise<void>(() => {})],
])('a case that fails says why, although what frees everything after it %s', async (_, close) => {
  const storage = { ...memoryStorage(), findAuthorizationCode: () => undefined as never }
  const named = storageContract(() => ({ storage, close })).find(({ name }) =>
    name.startsWith('an unknown code is null'),
  )
  await expect(named?.run()).rejects.toThrow('undefined')
})

/** The eight methods alone, as an adapter to tables of one's own would have them. */
function eightMethods(store: AdminStorage = memoryStorage()): UtilityStorage {
  const { findClient, findAuthorizationCode, redeemAuthorizationCode, ...rest } = store
  const { revokeAccessTokensOfCode, findCredential, insertLicense, updateLicense, findLicense } = rest
  return {
    findClient,
    findAuthorizationCode,
    redeemAuthorizationCode,
    revokeAccessTokensOfCode,
    findCredential,
    insertLicense,
    updateLicense,
    findLicense,
  }
}

test('for a store without provisioning and without a seed, cases are reported as not applicable, not as passed', async () => {
  const cases = storageContract(() => ({ storage: eightMethods(), close() {} }))
  const outcomes = await Promise.all(cases.map(({ run }) => run()))
  const needNoSeed = [
    'an unknown code',
    'an update of an unknown key',
    'a repeat gets',
    'a repeat is answered',
  ]
  const passed = cases.filter((_, index) => outcomes[index] === 'passed').map(({ name }) => name)
  expect(passed.length).toBeLessThan(15)
  expect(passed.filter((name) => needNoSeed.some((start) => name.startsWith(start)))).toHaveLength(3)
})

test('a store of eight methods is covered by means of a seed', async () => {
  const cases = storageContract(() => {
    const seed = memoryStorage()
    const storage = eightMethods(seed)
    return { storage, seed, close() {} }
  })
  const outcomes = await Promise.all(cases.map(({ run }) => run()))
  expect(outcomes.filter((outcome) => outcome === 'passed').length).toBeGreaterThan(30)
})

test('a store that can provision but not list fails no case', async () => {
  const cases = storageContract(() => {
    const { listing: _, ...storage } = memoryStorage()
    return { storage, second: storage, close() {} }
  })
  const outcomes = await Promise.all(cases.map(({ run }) => run()))
  expect(outcomes.filter((outcome) => outcome === 'passed').length).toBeGreaterThan(60)
})
