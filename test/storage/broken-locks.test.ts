import { StorageError } from 'utility-api/storage'
import type { BoundAdmin } from '../../src/testing/contract/bound.ts'
import { testMistakes } from './support/mistake.ts'

// One lock for a whole store, as the guide advises where there are no conditional writes, and one method without it.

const aMoment = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

type Methods = Record<string, (...args: unknown[]) => unknown>

/** Lets each write wait for those before it, and for a moment of its own, except those without the lock. */
function locked(good: BoundAdmin, without: Partial<BoundAdmin>): Partial<BoundAdmin> {
  let turn: Promise<unknown> = Promise.resolve()
  const inTurn = Object.entries(good as unknown as Methods).map(([name, method]) => [
    name,
    (...args: unknown[]): unknown => {
      if (name.startsWith('find')) return method(...args)
      const answer = turn.then(aMoment).then(() => method(...args))
      turn = answer.catch(() => {})
      return answer
    },
  ])
  return { ...(Object.fromEntries(inTurn) as BoundAdmin), ...without }
}

/** Stores a license again if it was deleted after it was read. */
async function writeBack(good: BoundAdmin, licenseKey: string): Promise<void> {
  const license = await good.findLicense(licenseKey)
  await aMoment()
  if (license !== null) await good.insertLicense(license)
}

testMistakes([
  {
    what: 'updates a license outside the lock of all other writes',
    caughtBy: 'a license deleted while it is changed stays deleted',
    change: (good) =>
      locked(good, {
        async updateLicense(update) {
          await writeBack(good, update.licenseKey)
          return good.updateLicense(update)
        },
      }),
  },
  {
    what: 'changes a license outside the lock of all other writes',
    caughtBy: 'a license deleted while it is changed stays deleted',
    change: (good) =>
      locked(good, {
        async changeLicense(licenseKey, change, at) {
          await writeBack(good, licenseKey)
          return good.changeLicense(licenseKey, change, at)
        },
      }),
  },
  {
    what: 'looks whether a client is revoked before it has the lock for its code',
    caughtBy: 'a client revoked while its codes are issued and spent has no unspent code',
    change: (good) =>
      locked(good, {
        async insertAuthorizationCode(hash, code) {
          const isRevoked = async (): Promise<boolean> =>
            ((await good.findClient(code.clientId))?.revokedAt ?? null) !== null
          if (await isRevoked()) throw new StorageError('conflict', 'revoked')
          await aMoment()
          // The good store would refuse it as the code of a revoked client.
          const late = (await isRevoked()) ? { clientId: 'another' } : {}
          return good.insertAuthorizationCode(hash, { ...code, ...late })
        },
      }),
  },
])
