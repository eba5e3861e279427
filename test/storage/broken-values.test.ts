import { createHash } from 'node:crypto'
import type { AuthorizationCode, Client, Credential, InsertLicenseResult } from 'utility-api/storage'
import { testMistakes, type Mistake } from './support/mistake.ts'

/** Returns a hash of everything that the buffer of a hash holds. */
function wholeBuffer(hash: Uint8Array): Uint8Array {
  return Uint8Array.from(createHash('sha256').update(new Uint8Array(hash.buffer)).digest())
}

/** Writes something for everything that is undefined. */
function orEmpty<Fields extends object>(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, value ?? ''])) as Fields
}

testMistakes([
  {
    what: 'looks a secret up by the whole buffer around it',
    caughtBy: 'a hash in the middle of a larger buffer is read without the bytes around it',
    change: (good) => ({
      insertCredential: (kind, hash, row) => good.insertCredential(kind, wholeBuffer(hash), row),
      findCredential: (kind, hash) => good.findCredential(kind, wholeBuffer(hash)),
    }),
  },
  {
    what: 'keeps the start of the buffer that a client secret is in',
    caughtBy: 'a hash in the middle of a larger buffer is read without the bytes around it',
    change: (good) => ({
      insertClient: ({ secretHashes, ...client }) =>
        good.insertClient({
          ...client,
          secretHashes: secretHashes.map(({ buffer }) => new Uint8Array(buffer, 0, 32)),
        }),
    }),
  },
  {
    what: 'erases the fields of a license that are undefined',
    caughtBy: 'a field of a license that is there but undefined was not sent',
    change: (good) => ({
      changeLicense: (licenseKey, change, at) => good.changeLicense(licenseKey, orEmpty(change), at),
    }),
  },
  {
    what: "erases the fields of a reseller's update that are undefined",
    caughtBy: 'a field of a license that is there but undefined was not sent',
    change: (good) => ({
      updateLicense: ({ patch, ...update }) => good.updateLicense({ ...update, patch: orEmpty(patch) }),
    }),
  },
  {
    what: 'erases the redirect URIs of a client if they are undefined',
    caughtBy: 'a field of a client that is there but undefined was not sent',
    change: (good) => ({
      updateClient: (clientId, patch) =>
        good.updateClient(
          clientId,
          'redirectUris' in patch ? { ...patch, redirectUris: patch.redirectUris ?? [] } : patch,
        ),
    }),
  },
  {
    what: 'keeps redirect URIs in one text, with a | between them',
    caughtBy: 'a client is read back as it was stored',
    change: (good) => ({
      insertClient: ({ redirectUris, ...client }) =>
        good.insertClient({ ...client, redirectUris: redirectUris.flatMap((uri) => uri.split('|')) }),
    }),
  },
  {
    what: 'keeps a scope as a set of names, in their order',
    caughtBy: 'a credential is read back as it was stored',
    change: (good) => ({
      insertCredential: (kind, hash, row) =>
        good.insertCredential(kind, hash, { ...row, scope: row.scope.split(' ').toSorted().join(' ') }),
    }),
  },
  {
    what: 'keeps the redirect URIs of an update as a set, in their order',
    caughtBy: 'an update of a client changes only the fields that were sent',
    change: (good) => ({
      updateClient: (clientId, { redirectUris, ...patch }) =>
        good.updateClient(clientId, {
          ...patch,
          ...(redirectUris && { redirectUris: redirectUris.toSorted() }),
        }),
    }),
  },
  {
    what: 'revokes the access of all whose keys begin with the subject and a separator',
    caughtBy: 'every method changes the row with exactly that identifier',
    change: (good) => ({
      async revokeAccess(which, at) {
        const counts = await good.revokeAccess(which, at)
        if ('subject' in which) await good.revokeAccess({ subject: `${which.subject}:b` }, at)
        return counts
      },
    }),
  },
  {
    what: 'takes an empty name of a client for none',
    caughtBy: 'an update of a client to an empty name is stored',
    change: (good) => ({
      updateClient: (clientId, { name, ...patch }) =>
        good.updateClient(clientId, name ? { ...patch, name } : patch),
    }),
  },
  {
    what: "takes a reseller's update to the same values for none",
    caughtBy: 'a change to the same values moves the time of the last change',
    change: (good) => ({
      async updateLicense(update) {
        const license = await good.findLicense(update.licenseKey)
        return license?.status === update.patch.status ? 'updated' : good.updateLicense(update)
      },
    }),
  },
  {
    what: 'takes a change to the same values for none',
    caughtBy: 'a change to the same values moves the time of the last change',
    change: (good) => ({
      async changeLicense(licenseKey, change, at) {
        const license = await good.findLicense(licenseKey)
        return license?.status === change.status || good.changeLicense(licenseKey, change, at)
      },
    }),
  },
  {
    what: 'keeps five redirect URIs of an update',
    caughtBy: 'an update to ten redirect URIs of the greatest length is stored whole',
    change: (good) => ({
      updateClient: (clientId, { redirectUris, ...patch }) =>
        good.updateClient(
          clientId,
          redirectUris ? { ...patch, redirectUris: redirectUris.slice(0, 5) } : patch,
        ),
    }),
  },
  {
    what: 'answers a find that nobody waits for with nothing',
    caughtBy: 'a find whose caller has left finds its row or fails with unavailable',
    change: (good) => ({
      findClient: (clientId, call) => (call.timeLeftMs() <= 0 ? null : good.findClient(clientId)),
    }),
  },
  {
    what: 'answers a find whose caller leaves meanwhile with nothing',
    caughtBy: 'a find whose caller has left finds its row or fails with unavailable',
    change: (good) => ({
      async findCredential(kind, hash, call) {
        const found = await good.findCredential(kind, hash)
        return call.timeLeftMs() <= 0 ? null : found
      },
    }),
  },
  {
    what: 'keeps clients in a plain object',
    caughtBy: 'names that every JavaScript object has are identifiers like others',
    change(good) {
      const clients: Record<string, Client> = {}
      return {
        async insertClient(client) {
          clients[client.clientId] ??= client
          return good.insertClient(client)
        },
        findClient: (clientId) => clients[clientId] ?? null,
      }
    },
  },
  {
    what: 'keeps resellers in a plain object',
    caughtBy: 'names that every JavaScript object has are identifiers like others',
    change: (good) => ({
      async insertCredential(kind, hash, credential) {
        const resellers: Record<string, unknown> = {}
        const { ownerId } = credential
        if (resellers[ownerId] !== undefined) await good.insertReseller({ resellerId: ownerId, createdAt: 0 })
        return good.insertCredential(kind, hash, credential)
      },
    }),
  },
  {
    what: 'lists the redirect URIs that it keeps',
    caughtBy: 'redirect URIs in lists are copies',
    change(good, lists) {
      const kept = new Map<string, readonly string[]>()
      return {
        insertClient(client) {
          kept.set(client.clientId, [...client.redirectUris])
          return good.insertClient(client)
        },
        async clients(page) {
          const { clients, ...next } = await lists.clients(page)
          const shared = clients.map((each) => ({
            ...each,
            redirectUris: kept.get(each.clientId) ?? each.redirectUris,
          }))
          return { clients: shared, ...next }
        },
      }
    },
  },
  {
    what: 'gives out the answer that it keeps',
    caughtBy: 'stored answers are copies',
    change(good) {
      let kept: InsertLicenseResult | undefined
      return {
        async insertLicense(license, idempotency) {
          const result = await good.insertLicense(license, idempotency)
          if (typeof result === 'object') kept ??= result
          return typeof result === 'object' && kept !== undefined ? kept : result
        },
      }
    },
  },
  {
    what: 'keeps the buffer that it is given for a new secret',
    caughtBy: 'values given to any other method are copied too',
    change(good) {
      let kept: Uint8Array | undefined
      return {
        async rotateClientSecret(clientId, newHash) {
          kept = newHash
          return good.rotateClientSecret(clientId, newHash)
        },
        async findClient(clientId) {
          const client = await good.findClient(clientId)
          return client && kept
            ? { ...client, secretHashes: [kept, ...client.secretHashes.slice(1)] }
            : client
        },
      }
    },
  },
  {
    what: 'keeps the array that it is given for new redirect URIs',
    caughtBy: 'values given to any other method are copied too',
    change(good) {
      let kept: readonly string[] | undefined
      return {
        updateClient(clientId, patch) {
          kept = patch.redirectUris
          return good.updateClient(clientId, patch)
        },
        async findClient(clientId) {
          const client = await good.findClient(clientId)
          return client && kept ? { ...client, redirectUris: kept } : client
        },
      }
    },
  },
  {
    what: 'keeps the code that it is given',
    caughtBy: 'values given to any other method are copied too',
    change(good) {
      let kept: AuthorizationCode | undefined
      return {
        insertAuthorizationCode(hash, code) {
          kept = code
          return good.insertAuthorizationCode(hash, code)
        },
        async findAuthorizationCode(hash) {
          const code = await good.findAuthorizationCode(hash)
          return code && kept ? { ...kept, redeemedAt: code.redeemedAt } : code
        },
      }
    },
  },
  {
    what: 'keeps the credential that it is given',
    caughtBy: 'values given to any other method are copied too',
    change(good) {
      let kept: Credential | undefined
      return {
        insertCredential(kind, hash, credential) {
          kept = credential
          return good.insertCredential(kind, hash, credential)
        },
        findCredential: (kind, hash) => kept ?? good.findCredential(kind, hash),
      }
    },
  },
] satisfies readonly Mistake[])
