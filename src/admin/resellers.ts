import type { StorageCall } from '../ports/storage-call.ts'
import { storageCall, type AdminParts } from './admin-parts.ts'
import type { Admin } from './admin.ts'
import { demand } from '../domain/arguments.ts'
import { demandIdentifier, demandLabel } from './checks.ts'
import { expiryOf, insertCredential } from './credentials.ts'

type ResellerMethods = Pick<Admin, 'createReseller' | 'createResellerToken'>

export function resellerMethods(parts: AdminParts): ResellerMethods {
  const { storage, clock, keyGenerator } = parts

  async function createToken(
    resellerId: string,
    expiresAt: number | null,
    call: StorageCall,
  ): Promise<{ resellerTokenId: string; token: string }> {
    const credential = { ownerId: resellerId, scope: '', expiresAt }
    const { id, secret } = await insertCredential(parts, 'reseller_token', credential, call)
    return { resellerTokenId: id, token: secret }
  }

  return {
    async createReseller({ name, resellerId = keyGenerator.id(clock.now()), tokenLifetimeSeconds } = {}) {
      demandIdentifier('resellerId', resellerId)
      demandLabel(name)
      const expiresAt = expiryOf('tokenLifetimeSeconds', tokenLifetimeSeconds, clock.now())
      const row = { resellerId, createdAt: clock.now(), ...(name !== undefined && { name }) }
      const call = storageCall()
      const result = await storage.insertReseller(row, call)
      demand(result === 'inserted', `resellerId: "${resellerId}" is taken.`)
      return { resellerId, ...(await createToken(resellerId, expiresAt, call)) }
    },
    async createResellerToken(resellerId, { lifetimeSeconds } = {}) {
      demandIdentifier('resellerId', resellerId)
      const expiresAt = expiryOf('lifetimeSeconds', lifetimeSeconds, clock.now())
      return createToken(resellerId, expiresAt, storageCall())
    },
  }
}
