import type { Credential } from 'utility-api/storage'
import { testMistakes, type Mistake } from './support/mistake.ts'

// What each server remembers by itself, and another one changes.
const mistakes: Omit<Mistake, 'second'>[] = [
  {
    what: 'remembers who owns a license',
    caughtBy: 'a license that changes hands through one instance is lost in all',
    change(good) {
      const owners = new Map<string, string>()
      return {
        async updateLicense({ licenseKey, resellerId, patch, at }) {
          const owner = owners.get(licenseKey) ?? (await good.findLicense(licenseKey))?.resellerId
          if (owner === undefined) return 'not_found'
          owners.set(licenseKey, owner)
          if (owner !== resellerId) return 'not_owner'
          await good.changeLicense(licenseKey, patch, at)
          return 'updated'
        },
      }
    },
  },
  {
    what: 'remembers the secrets of a client',
    caughtBy: 'a rotation through one instance is known to all',
    change(good) {
      const first = new Map<string, Uint8Array>()
      return {
        async rotateClientSecret(clientId, newHash) {
          // The one that was first becomes the second.
          const before = first.get(clientId)
          if (before !== undefined) await good.rotateClientSecret(clientId, before)
          first.set(clientId, newHash)
          return good.rotateClientSecret(clientId, newHash)
        },
      }
    },
  },
  {
    what: 'remembers live credentials until it revokes some itself',
    caughtBy: 'a credential revoked through one instance is revoked in all',
    change(good) {
      const live = new Map<string, Credential>()
      return {
        async findCredential(kind, hash) {
          const key = `${kind} ${hash.join()}`
          const found = live.get(key) ?? (await good.findCredential(kind, hash))
          if (found?.revokedAt === null) live.set(key, found)
          return found
        },
        revokeCredential(which, at) {
          live.clear()
          return good.revokeCredential(which, at)
        },
      }
    },
  },
  {
    what: 'remembers which clients are not revoked',
    caughtBy: 'a client revoked through one instance is issued no code by another',
    change(good) {
      const live = new Set<string>()
      return {
        async insertAuthorizationCode(hash, code) {
          const isLive = live.has(code.clientId)
          await good.insertAuthorizationCode(hash, isLive ? { ...code, clientId: 'another' } : code)
          live.add(code.clientId)
        },
      }
    },
  },
  {
    what: 'remembers which resellers do not exist',
    caughtBy: 'a reseller inserted through one instance gets tokens through another',
    change(good) {
      const missing = new Set<string>()
      return {
        async insertCredential(kind, hash, credential) {
          if (missing.has(credential.ownerId)) return 'no_owner'
          const result = await good.insertCredential(kind, hash, credential)
          if (result === 'no_owner') missing.add(credential.ownerId)
          return result
        },
      }
    },
  },
  {
    what: 'numbers licenses by itself',
    caughtBy: 'licenses inserted through two instances are in one list and one count',
    change(good, lists) {
      const numbers = new Map<string, number>()
      return {
        insertLicense(license, idempotency) {
          numbers.set(license.licenseKey, numbers.size)
          return good.insertLicense(license, idempotency)
        },
        async licenses({ after = '0', limit, ...of }) {
          const all = (await lists.licenses({ ...of, limit: 1000 })).licenses
          const numberOf = (key: string): number => numbers.get(key) ?? 0
          const sorted = all.toSorted((a, b) => numberOf(a.licenseKey) - numberOf(b.licenseKey))
          const rest = sorted.slice(Number(after))
          const licenses = rest.slice(0, limit)
          return rest.length > limit ? { licenses, next: `${Number(after) + limit}` } : { licenses }
        },
      }
    },
  },
  {
    what: 'counts the licenses that it has inserted',
    caughtBy: 'licenses inserted through two instances are in one list and one count',
    change(good) {
      let count = 0
      return {
        async insertLicense(license, idempotency) {
          const result = await good.insertLicense(license, idempotency)
          if (result === 'inserted') count += 1
          return result
        },
        countLicenses: () => count,
      }
    },
  },
]

testMistakes(mistakes.map((mistake) => ({ ...mistake, second: true })))
