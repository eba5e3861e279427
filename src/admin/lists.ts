import { credentialKinds, type Reseller } from '../domain/access.ts'
import { searchedForms } from '../domain/compared-domain.ts'
import { toLicense } from '../domain/license.ts'
import type { ListedClient, ListedCredential, ListPage, StorageListing } from '../ports/storage-listing.ts'
import { storageCall, type AdminParts } from './admin-parts.ts'
import type { Admin } from './admin.ts'
import { demand } from '../domain/arguments.ts'
import { demandIdentifier, demandInteger } from './checks.ts'

const maxPage = 1000

type ListMethods = Pick<
  Admin,
  'listClients' | 'listResellers' | 'listCredentials' | 'listLicenses' | 'countLicenses'
>

/** Each method throws if the storage cannot list. */
export function listMethods({ storage: { listing } }: AdminParts): ListMethods {
  function required(): StorageListing {
    demand(listing !== undefined, 'The storage cannot list: it has no `listing`.')
    return listing
  }

  return {
    async listClients(page) {
      const { clients, ...next } = await required().clients(checkedPage(page), storageCall())
      return { clients: clients.map(toListedClient), ...next }
    },
    async listResellers(page) {
      const { resellers, ...next } = await required().resellers(checkedPage(page), storageCall())
      return { resellers: resellers.map(toListedReseller), ...next }
    },
    async listCredentials({ kind, ownerId, ...page }) {
      demand(credentialKinds.includes(kind), `kind must be one of ${credentialKinds.join(', ')}.`)
      demandIdentifier('ownerId', ownerId)
      const wanted = { ...checkedPage(page), kind, ...(ownerId !== undefined && { ownerId }) }
      const { credentials, ...next } = await required().credentials(wanted, storageCall())
      return { credentials: credentials.map(toListedCredential), ...next }
    },
    async listLicenses({ resellerId, domainOrIp, status, ...page } = {}) {
      demandIdentifier('resellerId', resellerId)
      const wanted = {
        ...checkedPage(page),
        ...(resellerId !== undefined && { resellerId }),
        ...(domainOrIp !== undefined && { comparedDomains: formsOf(domainOrIp) }),
        ...(status !== undefined && { status }),
      }
      const { licenses, ...next } = await required().licenses(wanted, storageCall())
      return { licenses: licenses.map(toLicense), ...next }
    },
    async countLicenses({ resellerId } = {}) {
      demandIdentifier('resellerId', resellerId)
      return required().countLicenses(resellerId === undefined ? {} : { resellerId }, storageCall())
    },
  }
}

function formsOf(domainOrIp: string): readonly string[] {
  const forms = searchedForms(domainOrIp.trim())
  demand(forms.length > 0, 'domainOrIp must be a host name or an IP address, without scheme, port or path.')
  return forms
}

function checkedPage({ after, limit = 50 }: { after?: string | undefined; limit?: number } = {}): ListPage {
  demandInteger('limit', limit, maxPage)
  demand(after === undefined || after.length <= 1024, 'after must be the next of a page of this list.')
  return { limit, ...(after !== undefined && { after }) }
}

// Named fields only: if a store lists whole rows, the hashes in them must not be returned.

function toListedClient({ clientId, name, redirectUris, createdAt, revokedAt }: ListedClient): ListedClient {
  return { clientId, ...(name !== undefined && { name }), redirectUris, createdAt, revokedAt }
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
