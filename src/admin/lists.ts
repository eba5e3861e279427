import { credentialKinds, type Reseller } from '../domain/credentials.ts'
import { searchedForms } from '../domain/compared-domain.ts'
import { toLicense } from '../domain/license.ts'
import { isStatus } from '../domain/license-rules.ts'
import type { MaybePromise } from '../domain/maybe-promise.ts'
import { StorageError } from '../ports/storage.ts'
import type { StorageCall } from '../ports/storage-call.ts'
import type { ListedClient, ListedCredential, ListPage, StorageListing } from '../ports/storage-listing.ts'
import { storageCall, type AdminParts } from './admin-parts.ts'
import type { Admin } from './admin.ts'
import { demand, invalidArgument } from '../domain/arguments.ts'
import { demandIdentifier, demandInteger } from './checks.ts'

const maxPage = 1000

type ListMethods = Pick<
  Admin,
  'listClients' | 'listResellers' | 'listCredentials' | 'listLicenses' | 'countLicenses'
>

/** Each method throws if the storage cannot list. */
export function listMethods({ storage: { listing } }: AdminParts): ListMethods {
  function required(): StorageListing {
    demand(listing !== undefined, 'storage cannot list: it has no `listing`.')
    return listing
  }

  return {
    async listClients(page) {
      const { clients, ...next } = await pageOf(page, (each, call) => required().clients(each, call))
      return { clients: clients.map(toListedClient), ...next }
    },
    async listResellers(page) {
      const { resellers, ...next } = await pageOf(page, (each, call) => required().resellers(each, call))
      return { resellers: resellers.map(toListedReseller), ...next }
    },
    async listCredentials({ kind, ownerId, ...page }) {
      demand(credentialKinds.includes(kind), `kind must be one of ${credentialKinds.join(', ')}.`)
      demandIdentifier('ownerId', ownerId)
      const wanted = { kind, ...(ownerId !== undefined && { ownerId }) }
      const read = (each: ListPage, call: StorageCall) => required().credentials({ ...wanted, ...each }, call)
      const { credentials, ...next } = await pageOf(page, read)
      return { credentials: credentials.map(toListedCredential), ...next }
    },
    async listLicenses({ resellerId, domainOrIp, status, reference, endsFrom, endsBefore, ...page } = {}) {
      demandIdentifier('resellerId', resellerId)
      demandIdentifier('reference', reference)
      const isInOrderOfEnds = endsBefore !== undefined
      demand(endsFrom === undefined || isInOrderOfEnds, 'endsFrom needs endsBefore.')
      const isAlone = (domainOrIp ?? status ?? reference) === undefined
      demand(!isInOrderOfEnds || isAlone, 'endsBefore goes only with endsFrom and resellerId.')
      // Not only today's statuses: licenses may have earlier ones.
      demand(status === undefined || isStatus(status), 'status must be 1 to 64 visible ASCII characters.')
      const wanted = {
        ...(resellerId !== undefined && { resellerId }),
        ...(domainOrIp !== undefined && { comparedDomains: formsOf(domainOrIp) }),
        ...(status !== undefined && { status }),
        ...(reference !== undefined && { reference }),
        ...(endsFrom !== undefined && { endsFrom: endsFrom.getTime() }),
        ...(isInOrderOfEnds && { endsBefore: endsBefore.getTime() }),
      }
      const read = (each: ListPage, call: StorageCall) => required().licenses({ ...wanted, ...each }, call)
      const { licenses, ...next } = await pageOf(page, read)
      return { licenses: licenses.map(toLicense), ...next }
    },
    async countLicenses({ resellerId } = {}) {
      demandIdentifier('resellerId', resellerId)
      return required().countLicenses(resellerId === undefined ? {} : { resellerId }, storageCall())
    },
  }
}

function formsOf(domainOrIp: string): readonly string[] {
  const forms = searchedForms(domainOrIp)
  demand(forms.length > 0, 'domainOrIp must be a host name or an IP address, without scheme, port or path.')
  return forms
}

const notAMark = 'after must be what an earlier page of this list has as next.'

/**
 * Reads the page that was asked for. A store refuses a text that is not a mark the same way it refuses to work without
 * its tables. Listing without the mark tells which it was.
 */
async function pageOf<Page>(
  { after, limit = 50 }: { after?: string | undefined; limit?: number } = {},
  read: (page: ListPage, call: StorageCall) => MaybePromise<Page>,
): Promise<Page> {
  demandInteger('limit', limit, maxPage)
  const call = storageCall()
  if (after === undefined) return read({ limit }, call)
  demand(after.length <= 1024, notAMark)
  try {
    return await read({ limit, after }, call)
  } catch (error) {
    if (!(error instanceof StorageError) || error.kind !== 'invalid') throw error
    await read({ limit: 1 }, call)
    throw invalidArgument(notAMark, error)
  }
}

// Named fields only: if a store lists whole rows, the hashes in them must not be returned.

function toListedClient(row: ListedClient): ListedClient {
  const { clientId, name, clientType = 'confidential', redirectUris, createdAt, revokedAt } = row
  return { clientId, ...(name !== undefined && { name }), clientType, redirectUris, createdAt, revokedAt }
}

function toListedReseller({ resellerId, name, createdAt }: Reseller): Reseller {
  return { resellerId, ...(name !== undefined && { name }), createdAt }
}

function toListedCredential(row: ListedCredential): ListedCredential {
  const { id, kind, ownerId, name, scope, subject, createdAt, expiresAt, revokedAt } = row
  const label = name === undefined ? {} : { name }
  // Null from a store that does not record uses, whatever its rows have.
  const lastUsedOn = (row.lastUsedOn as number | null | undefined) ?? null
  return { id, kind, ownerId, ...label, scope, subject, createdAt, expiresAt, revokedAt, lastUsedOn }
}
