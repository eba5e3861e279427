import { isScope, needsChallenge, permits, type Client } from '../domain/credentials.ts'
import { hashSecret, newSecret } from '../domain/secret.ts'
import type { StorageCall } from '../ports/storage-call.ts'
import { StorageError } from '../ports/storage.ts'
import { storageCall, type AdminParts } from './admin-parts.ts'
import type { Admin } from './admin.ts'
import { errorParameters } from './authorization-error.ts'
import { judgeRequest, locationOf, type AuthorizationRequest } from './authorization-request.ts'
import { demand } from '../domain/arguments.ts'
import { demandIdentifier, demandInteger, demandScope, isChallenge, uniqueNames } from './checks.ts'
import { findClient, requireLiveClient } from './clients.ts'
import { isRegistered } from './redirect-uri.ts'
import { resourceMetadata, serverMetadata } from './server-metadata.ts'

type AuthorizationMethods = Pick<
  Admin,
  | 'readAuthorizationRequest'
  | 'grantAuthorization'
  | 'denyAuthorization'
  | 'issueAuthorizationCode'
  | 'authorizationServerMetadata'
  | 'protectedResourceMetadata'
>

export function authorizationMethods(parts: AdminParts): AuthorizationMethods {
  const { storage, clock, keyGenerator, issuer } = parts

  /**
   * Asked for each answer, because the owner may have revoked the client, or removed the URI, while the page was open.
   */
  async function requireRegistered(
    { clientId, redirectUri }: Pick<AuthorizationRequest, 'clientId' | 'redirectUri'>,
    call: StorageCall,
  ): Promise<Client> {
    const client = await requireLiveClient(parts, clientId, call)
    const mayBeSent = isRegistered(redirectUri, client)
    demand(mayBeSent, `redirectUri: "${redirectUri.slice(0, 255)}" is not registered.`)
    return client
  }

  const issueAuthorizationCode: Admin['issueAuthorizationCode'] = async (code) => {
    const { clientId, redirectUri, scope, subject, codeChallenge = null, lifetimeSeconds = 60 } = code
    const call = storageCall()
    const client = await requireRegistered(code, call)
    demandScope(scope)
    demandIdentifier('subject', subject)
    const fits = codeChallenge === null || isChallenge(codeChallenge)
    demand(fits, 'codeChallenge must be 43 base64url characters.')
    const isBound = codeChallenge !== null || !needsChallenge(client, redirectUri)
    demand(isBound, 'codeChallenge: a public client, and any at an app scheme, must have one.')
    demandInteger('lifetimeSeconds', lifetimeSeconds, 600)
    const now = clock.now()
    const secret = newSecret(keyGenerator, 'authorization_code', now)
    const expiresAt = now + lifetimeSeconds * 1000
    const granted = { clientId, subject: subject ?? null, redirectUri, codeChallenge }
    const row = { ...granted, scope: uniqueNames(scope), expiresAt, redeemedAt: null }
    try {
      await storage.insertAuthorizationCode(hashSecret(secret), row, call)
    } catch (error) {
      // The store refuses the code of a client that was revoked after it was found above.
      if (error instanceof StorageError && error.kind === 'conflict')
        await requireLiveClient(parts, clientId, call)
      throw error
    }
    return { code: secret, expiresAt: new Date(expiresAt) }
  }

  return {
    async readAuthorizationRequest(query, { scopes, defaultScope = '' }) {
      const isAllowed = isScope(defaultScope) && permits(scopes.join(' '), defaultScope)
      demand(isAllowed, 'defaultScope must consist of names in scopes, separated by single spaces.')
      // A copy: the client is looked up by one member, and answered to another.
      return judgeRequest(new URLSearchParams(query), { scopes, defaultScope, issuer }, (clientId) =>
        findClient(parts, clientId, storageCall()),
      )
    },
    async grantAuthorization(asked, { scope = asked.scope, ...given } = {}) {
      const { clientId, redirectUri, codeChallenge } = asked
      demandScope(scope)
      demand(permits(asked.scope, scope), 'scope: more than was asked for.')
      const { code } = await issueAuthorizationCode({
        clientId,
        redirectUri,
        scope,
        ...given,
        ...(codeChallenge !== null && { codeChallenge }),
      })
      return { location: locationOf(asked, { code }, parts) }
    },
    async denyAuthorization(asked, { error = 'access_denied', description } = {}) {
      const parameters = errorParameters(error, description)
      await requireRegistered(asked, storageCall())
      return { location: locationOf(asked, parameters, parts) }
    },
    issueAuthorizationCode,
    authorizationServerMetadata: (endpoints) => serverMetadata(endpoints, issuer),
    protectedResourceMetadata: resourceMetadata,
  }
}
