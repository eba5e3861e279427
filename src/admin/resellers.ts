import { storageCall, type AdminParts } from './admin-parts.ts'
import type { Admin } from './admin.ts'
import { demand } from '../domain/arguments.ts'
import { demandIdentifier, demandLabel } from './checks.ts'
import { insertCredential } from './credentials.ts'

type ResellerMethods = Pick<Admin, 'createReseller' | 'createResellerToken'>

export function resellerMethods(parts: AdminParts): ResellerMethods {
  const { storage, clock, keyGenerator } = parts

  const createResellerToken: Admin['createResellerToken'] = async (resellerId) => {
    demandIdentifier('resellerId', resellerId)
    const credential = { ownerId: resellerId, scope: '', expiresAt: null }
    const { id, secret } = await insertCredential(parts, 'reseller_token', credential)
    return { resellerTokenId: id, token: secret }
  }

  return {
    async createReseller({ name, resellerId = keyGenerator.id(clock.now()) } = {}) {
      demandIdentifier('resellerId', resellerId)
      demandLabel(name)
      const row = { resellerId, createdAt: clock.now(), ...(name !== undefined && { name }) }
      const result = await storage.insertReseller(row, storageCall())
      demand(result === 'inserted', `resellerId: "${resellerId}" is taken.`)
      return { resellerId, ...(await createResellerToken(resellerId)) }
    },
    createResellerToken,
  }
}
