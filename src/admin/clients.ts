import { clientTypes, type Client } from '../domain/credentials.ts'
import { newSecret, sha256 } from '../domain/secret.ts'
import type { StorageCall } from '../ports/storage-call.ts'
import { storageCall, type AdminParts } from './admin-parts.ts'
import type { Admin, NewClient } from './admin.ts'
import { demand } from '../domain/arguments.ts'
import { demandIdentifier, demandLabel, isIdentifier } from './checks.ts'
import { demandRedirectUris } from './redirect-uri.ts'

type ClientMethods = Pick<Admin, 'createClient' | 'updateClient' | 'rotateClientSecret' | 'revokeClient'>

export function clientMethods({ storage, clock, keyGenerator }: AdminParts): ClientMethods {
  async function createClient(client: NewClient): Promise<{ clientId: string; clientSecret: string | null }> {
    const { name, redirectUris, clientType = 'confidential' } = client
    const { clientId = keyGenerator.id(clock.now()) } = client
    demandIdentifier('clientId', clientId)
    // In HTTP Basic, the secret begins at the first colon.
    demand(!clientId.includes(':'), 'clientId must not have a colon in it.')
    demandLabel(name)
    demandRedirectUris(redirectUris)
    demand(clientTypes.includes(clientType), `clientType must be ${clientTypes.join(' or ')}.`)
    const isPublic = clientType === 'public'
    const { clientSecret = isPublic ? null : newSecret(keyGenerator, 'client_secret', clock.now()) } = client
    if (isPublic) demand(clientSecret === null, 'clientSecret: a public client has none.')
    else demandSecret(clientSecret ?? '')
    const row: Client = {
      clientId,
      secretHashes: clientSecret === null ? [] : [sha256(clientSecret)],
      redirectUris,
      createdAt: clock.now(),
      revokedAt: null,
      ...(name !== undefined && { name }),
      ...(isPublic && { clientType }),
    }
    const result = await storage.insertClient(row, storageCall())
    demand(result === 'inserted', `clientId: "${clientId}" is taken.`)
    return { clientId, clientSecret }
  }

  return {
    createClient: createClient as Admin['createClient'],
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
      demand(rotated, `clientId: there is no confidential client "${clientId.slice(0, 255)}".`)
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
