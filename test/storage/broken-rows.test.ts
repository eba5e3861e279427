import { testMistakes } from './support/mistake.ts'

/** What drivers and serializers make of a value that has no place in its column. */
const timeOrNone = (time: number | null): number | null => (Number.isFinite(time) ? time : null)

testMistakes([
  {
    what: 'keeps an expiry that is no number as none',
    caughtBy: 'a credential that cannot be kept as it is is refused',
    change: (good) => ({
      insertCredential: (kind, hash, row) =>
        good.insertCredential(kind, hash, { ...row, expiresAt: timeOrNone(row.expiresAt) }),
    }),
  },
  {
    what: 'makes text of a subject that is a number',
    caughtBy: 'a credential that cannot be kept as it is is refused',
    change: (good) => ({
      insertCredential: (kind, hash, { subject, ...row }) =>
        good.insertCredential(kind, hash, {
          ...row,
          subject: typeof subject === 'number' ? `${String(subject)}.0` : subject,
        }),
    }),
  },
  {
    what: 'takes a scope with two spaces',
    caughtBy: 'a credential that cannot be kept as it is is refused',
    change: (good) => ({
      insertCredential: (kind, hash, row) =>
        good.insertCredential(kind, hash, { ...row, scope: String(row.scope).replaceAll(/ +/g, ' ').trim() }),
    }),
  },
  {
    what: 'takes a hash in hexadecimal',
    caughtBy: 'a credential that cannot be kept as it is is refused',
    change: (good) => ({
      insertCredential: (kind, hash, row) =>
        good.insertCredential(kind, typeof hash === 'string' ? Buffer.from(hash) : hash, row),
    }),
  },
  {
    what: 'keeps a credential of a kind that nobody knows',
    caughtBy: 'a credential that cannot be kept as it is is refused',
    change: (good) => ({
      insertCredential: (kind, hash, row) =>
        ['access_token', 'reseller_token'].includes(kind)
          ? good.insertCredential(kind, hash, row)
          : good.insertCredential('api_key', hash, row),
    }),
  },
  {
    what: 'keeps a code without a challenge that was undefined',
    caughtBy: 'a code that cannot be kept as it is is refused',
    change: (good) => ({
      insertAuthorizationCode: (hash, row) =>
        good.insertAuthorizationCode(hash, {
          ...row,
          codeChallenge: (row.codeChallenge as unknown) === undefined ? null : row.codeChallenge,
        }),
    }),
  },
  {
    what: 'makes text of the redirect URIs of a client',
    caughtBy: 'a client that cannot be kept as it is is refused',
    change: (good) => ({
      insertClient: ({ redirectUris, ...client }) =>
        good.insertClient({
          ...client,
          redirectUris: Array.isArray(redirectUris) ? redirectUris.map(String) : redirectUris,
        }),
    }),
  },
  {
    what: 'keeps no hash of a client that has none to keep',
    caughtBy: 'a client that cannot be kept as it is is refused',
    change: (good) => ({
      insertClient: (client) =>
        good.insertClient({ ...client, secretHashes: [client.secretHashes].flat().filter(Boolean) }),
    }),
  },
  {
    what: 'puts an empty name for one that is null',
    caughtBy: 'a client that cannot be kept as it is is refused',
    change: (good) => ({
      updateClient: (clientId, { name, ...patch }) =>
        good.updateClient(clientId, {
          ...patch,
          ...(name !== undefined && { name: (name as string | null) ?? '' }),
        }),
    }),
  },
  {
    what: 'keeps a reseller under the text of its number',
    caughtBy: 'a reseller or a license that cannot be kept as it is is refused',
    change: (good) => ({
      insertReseller: (row) => good.insertReseller({ ...row, resellerId: String(row.resellerId) }),
    }),
  },
  {
    what: 'makes text of the name of a license',
    caughtBy: 'a reseller or a license that cannot be kept as it is is refused',
    change: (good) => ({
      insertLicense: (row, key) =>
        good.insertLicense({ ...row, registeredTo: String(row.registeredTo) }, key),
    }),
  },
  {
    what: 'takes a domain without its compared form',
    caughtBy: 'a reseller or a license that cannot be kept as it is is refused',
    change: (good) => ({
      // The bound storage makes the form itself.
      changeLicense: (licenseKey, { comparedDomain: _, ...change }, at) =>
        good.changeLicense(licenseKey, change, at),
    }),
  },
  {
    what: 'acknowledges a revocation whose time it cannot keep',
    caughtBy: 'a revocation without a time is refused',
    change: (good) => ({
      revokeCredential: (which, at) => Number.isNaN(at) || good.revokeCredential(which, at),
    }),
  },
  {
    what: 'purges nothing by a time that is no number',
    caughtBy: 'a revocation without a time is refused',
    change: (good) => ({
      purgeExpired: (at) =>
        Number.isNaN(at) ? { codes: 0, tokens: 0, idempotency: 0 } : good.purgeExpired(at),
    }),
  },
  {
    what: 'finds nothing to revoke by an identifier that is a number',
    caughtBy: 'a change by an identifier that is a number is refused',
    change: (good) => ({
      revokeAccess: (which, at) =>
        'subject' in which && typeof which.subject === 'number'
          ? { tokens: 0, codes: 0 }
          : good.revokeAccess(which, at),
    }),
  },
])
