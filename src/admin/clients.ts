import type { Client } from '../domain/access.ts'
import { newSecret, sha256 } from '../domain/secret.ts'
import type { StorageCall } from '../ports/storage-call.ts'
import { storageCall, type AdminParts } from './admin-parts.ts'
import type { Admin } from './admin.ts'
import { demand } from '../domain/arguments.ts'
import { demandIdentifier, demandLabel, isIdentifier } from './checks.ts'
import { demandRedirectUris } from './redirect-uri.ts'

type ClientMethods = Pick<Admin, 'createClient' | 'updateClient' | 'rotateClientSecret' | 'revokeClient'>

export function clientMethods({ storage, clock, keyGenerator }: AdminParts): ClientMethods {
  return {
    async createClient({ name, redirectUris, clientId = keyGenerator.id(clock.now()), clientSecret }) {
      demandIdentifier('clientId', clientId)
      demandLabel(name)
      demandRedirectUris(redirectUris)
      const secret = clientSecret ?? newSecret(keyGenerator, 'client_secret', clock.now())
      demandSecret(secret)
      const times = { createdAt: clock.now(), revokedAt: null }
      const label = name === undefined ? {} : { name }
      const row = { clientId, secretHashes: [sha256(secret)], redirectUris, ...times, ...label }
      const result = await storage.insertClient(row, storageCall())
      demand(result === 'inserted', `clientId: "${clientId}" is taken.`)
      return { clientId, clientSecret: secret }
    },
    async updateClient(clientId, patch) {
      demandLabel(patch.name)
      demandRedirectUris(patch.redirectUris ?? [])
      return isIdentifier(clientId) && storage.updateClient(clientId, patch, storageCall())
    },
    async rotateClientSecret(clientId) {
      const clientSecret = newSecret(keyGenerator, 'client_secret', clock.now())
      const rotated =
        isIdentifier(clientId) &&
        (await storage.rotateClientSecret(clientId, sha256(clientSecret), storageCall()))
      demand(rotated, `clientId: there is no client "${clientId.slice(0, 255)}".`)
      return { clientSecret }
    },
    revokeClient: async (clientId) =>
      isIdentifier(clientId) && storage.revokeClient(clientId, clock.now(), storageCall()),
  }
}

/** Finds a client. Text that cannot be an identifier is not looked up. */
export async function findClient(
  { storage }: AdminParts,
  clientId: string,
  call: StorageCall,
): Promise<Client | null> {
  return isIdentifier(clientId) ? storage.findClient(clientId, call) : null
}

export async function requireLiveClient(
  parts: AdminParts,
  clientId: string,
  call: StorageCall,
): Promise<Client> {
  const client = await findClient(parts, clientId, call)
  demand(client?.revokedAt === null, `clientId: there is no live client "${clientId.slice(0, 255)}".`)
  return client
}

function demandSecret(text: string): void {
  const isStrong = /^[\x20-\x7e]{32,1024}$/.test(text)
  demand(isStrong, 'clientSecret must have 32 to 1024 visible ASCII characters.')
}
