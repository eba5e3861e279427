import type { AdminStorage, StorageCall } from 'utility-api/storage'
import { hashSecret } from '../../../src/domain/secret.ts'
import type { Model } from '../../../src/testing/contract/model.ts'
import { secretOf } from './world.ts'

/** The model as a store of which one call is one step, with all that it has beside the port. */
export type Steps = {
  readonly [Name in keyof Model]: (
    ...args: [...Parameters<Model[Name]>, StorageCall]
  ) => Promise<Awaited<ReturnType<Model[Name]>>>
}

/** What a store does otherwise, as one server sees it. */
export type Plant = (steps: Steps) => Partial<AdminStorage>

/** Stores that do what the port says as long as no other server comes between their steps. */
export const planted: readonly {
  readonly what: string
  /** The pairs of requests that show it. */
  readonly foundBy: readonly string[]
  readonly change: Plant
}[] = [
  {
    what: 'looks whether a code is spent, then spends it',
    foundBy: [
      'exchange × exchange',
      'exchange × revoke client',
      'exchange × end client',
      'exchange × revoke access of clientId',
      'exchange × revoke access of subject',
    ],
    change: (steps) => ({
      async redeemAuthorizationCode(codeHash, at, token, call) {
        const code = await steps.findAuthorizationCode(codeHash, call)
        if (code?.redeemedAt !== null) return false
        const { hash, ...row } = token
        if (!(await steps.redeemAuthorizationCode(codeHash, at, token, call)))
          await steps.insertCredential('access_token', hash, { ...row, revokedAt: null }, call)
        return true
      },
    }),
  },
  {
    what: 'revokes the tokens that there were before it ended the codes',
    foundBy: ['exchange × revoke access of clientId', 'exchange × revoke access of subject'],
    change: (steps) => ({
      async revokeAccess(which, at, call) {
        if ('resellerId' in which) return steps.revokeAccess(which, at, call)
        const before = await steps.copy(call)
        const codes = await steps.endCodes(which, call)
        const hashes = ['old', 'a', 'b'].map((name) => hashSecret(secretOf(name, 'access_token')))
        let tokens = 0
        for (const hash of hashes.filter((each) => before.findCredential('access_token', each) !== null))
          // oxlint-disable-next-line no-await-in-loop -- one step after the other
          tokens += Number(await steps.revokeCredential({ hash }, at, call))
        return { codes, tokens }
      },
    }),
  },
  {
    what: 'claims an idempotency key after it has stored the license',
    foundBy: [
      'generate × generate',
      'generate × generate for another',
      'generate for another × generate for another',
      'generate what is forgotten × generate what is forgotten',
    ],
    change: (steps) => ({
      async insertLicense(license, key, call) {
        const answer = await (await steps.copy(call)).insertLicense(license, key)
        if (answer !== 'inserted') return answer
        await steps.insertLicense(license, undefined, call)
        await steps.deleteLicense(license.licenseKey, call)
        await steps.insertLicense(license, key, call)
        return 'inserted'
      },
    }),
  },
  {
    what: 'deletes the claim that it found expired, then stores another',
    foundBy: ['generate what is forgotten × generate what is forgotten'],
    change: (steps) => ({
      async insertLicense(license, key, call) {
        const before = await steps.copy(call)
        const isHeld = before.copy().insertLicense(license, key && { ...key, at: 0 }) !== 'inserted'
        const answer = await before.insertLicense(license, key)
        if (answer !== 'inserted') return answer
        return steps.insertLicense(license, key && { ...key, at: isHeld ? Infinity : key.at }, call)
      },
    }),
  },
  {
    what: 'reads a license, then writes all of it',
    foundBy: ['update × update another field', 'update × move', 'update another field × move'],
    change: (steps) => ({
      async updateLicense({ licenseKey, resellerId, patch, at }, call) {
        const license = await steps.findLicense(licenseKey, call)
        if (license === null) return 'not_found'
        if (license.resellerId !== resellerId) return 'not_owner'
        const isThere = await steps.changeLicense(licenseKey, { ...license, ...patch }, at, call)
        return isThere ? 'updated' : 'not_found'
      },
    }),
  },
  {
    what: 'revokes no token that was bought since it looked at the code',
    foundBy: ['exchange × exchange'],
    change(steps) {
      let hasLost = false
      return {
        async redeemAuthorizationCode(...redemption) {
          const isWon = await steps.redeemAuthorizationCode(...redemption)
          hasLost = !isWon
          return isWon
        },
        revokeAccessTokensOfCode: async (...args) => (hasLost ? 0 : steps.revokeAccessTokensOfCode(...args)),
      }
    },
  },
]
