/**
 * A storage adapter to start your own from: copy this file and replace the maps with your database.
 *
 * It keeps its rows in memory and a journal of every change in a file. What matters is not how it does so, but what
 * each method promises: read the comments that contain MUST, and run `storageContract` from `utility-api/testing` on
 * your adapter until every case passes. Only the first eight methods are needed to serve requests; the rest is
 * provisioning (`createAdmin`, the command line).
 */
import {
  StorageError,
  withCheckedRows,
  type AccessReference,
  type AdminStorage,
  type AuthorizationCode,
  type Client,
  type Credential,
  type NewLicense,
  type Reseller,
  type StorageCall,
} from 'utility-api/storage'
import { openJournal, type Change } from './journal.ts'
import { listingOf, withoutOwn, type Rows } from './listing.ts'

// Rows as JSON can hold them: bytes as hexadecimal text.
type ClientRow = Omit<Client, 'secretHashes'> & { readonly secretHashes: readonly string[] }
type CredentialRow = Credential & { readonly seq: number; readonly lastUsedOn?: number }
type LicenseRow = NewLicense & { readonly seq: number }
type CodeRow = AuthorizationCode & { readonly token?: string }
type IdempotencyKeyRow = {
  readonly licenseKey: string
  readonly requestHash: string
  readonly expiresAt: number | null
}

export async function journalStorage(path: string): Promise<AdminStorage> {
  const clients = new Map<string, ClientRow>()
  const codes = new Map<string, CodeRow>()
  const resellers = new Map<string, Reseller>()
  const credentials = new Map<string, CredentialRow>()
  const licenses = new Map<string, LicenseRow>()
  const idempotencyKeys = new Map<string, IdempotencyKeyRow>()
  const tables: Record<string, Map<string, object>> = {
    clients,
    resellers,
    codes,
    credentials,
    licenses,
    idempotencyKeys,
  }

  function apply([table, key, row]: Change): void {
    if (row === null) tables[table]?.delete(key)
    else tables[table]?.set(key, row)
  }
  const journal = await openJournal(path, apply)
  let closed = false
  // Licenses and credentials are numbered: a page of a list continues after a number, whatever was deleted in the
  // meantime.
  let lastSeq = Math.max(0, ...[...licenses.values(), ...credentials.values()].map(({ seq }) => seq))

  /** A closed store MUST report `unavailable`, never "not found": a shutdown is not a wrong password. */
  function requireOpen(): void {
    if (closed) throw new StorageError('unavailable', 'The storage is closed.')
  }

  /** Work that has not begun MUST NOT begin once nobody waits: the caller may have told its customer that it failed. */
  function begin(call: StorageCall): void {
    requireOpen()
    if (call.timeLeftMs() <= 0) throw new StorageError('unavailable', 'Nobody waits for this call any more.')
  }

  /**
   * Answers once the changes are safe. Deciding and applying happen in one turn of the event loop, so nothing can come
   * in between. A store with many writers needs a conditional statement or a transaction here.
   *
   * Waits even if there is nothing to change: "taken" or "spent" may depend on a change that is still on its way to the
   * disk, and must not be reported before that change is there.
   */
  async function answer<Result>(result: Result, ...changes: Change[]): Promise<Result> {
    // Converted to JSON and back: what is kept must share nothing with what the caller holds.
    for (const change of JSON.parse(JSON.stringify(changes)) as Change[]) apply(change)
    await journal.commit(changes)
    return result
  }

  // MUST refuse what it would change or lose: JSON, like SQL, keeps an expiry of NaN as none.
  return withCheckedRows({
    // ---- The eight methods that requests need ----

    async findClient(clientId, call) {
      begin(call)
      const row = clients.get(clientId)
      if (row === undefined) return null
      // MUST be a copy, including the arrays: callers may do what they like with it.
      return { ...row, redirectUris: [...row.redirectUris], secretHashes: row.secretHashes.map(toBytes) }
    },

    async findAuthorizationCode(codeHash, call) {
      begin(call)
      // Finds spent and expired codes, too: the core tells them apart, and revokes the token when a spent code is
      // replayed.
      const row = codes.get(toHex(codeHash))
      if (row === undefined) return null
      const { token: _, ...code } = row
      return code
    },

    async redeemAuthorizationCode(codeHash, at, { hash, ...fields }, call) {
      begin(call)
      const key = toHex(codeHash)
      const row = codes.get(key)
      // MUST be true for exactly one caller per code. In SQL: UPDATE … WHERE redeemed_at IS NULL, then count the rows.
      if (row === undefined || row.redeemedAt !== null) return answer(false)
      const token = `access_token ${toHex(hash)}`
      // MUST spend the code and store the token, or do neither: what can fail comes before the first change.
      requireFree(credentials, token, fields.id)
      const credential: CredentialRow = { ...fields, revokedAt: null, seq: (lastSeq += 1) }
      return answer(
        true,
        ['codes', key, { ...row, redeemedAt: at, token }],
        ['credentials', token, credential],
      )
    },

    async revokeAccessTokensOfCode(codeHash, at, call) {
      begin(call)
      const token = codes.get(toHex(codeHash))?.token ?? ''
      const revoked = revocation(credentials, token, at)
      return answer(revoked.length, ...revoked)
    },

    async findCredential(kind, hash, call) {
      begin(call)
      // MUST find only this kind: an API key is not a reseller token, even if somebody created both from one secret.
      const row = credentials.get(`${kind} ${toHex(hash)}`)
      return row === undefined ? null : withoutOwn(row)
    },

    async insertLicense(license, idempotency, call) {
      begin(call)
      const rowKey =
        idempotency === undefined ? '' : `${toHex(idempotency.keyHash)} ${idempotency.resellerId}`
      const first = idempotencyKeys.get(rowKey)
      // MUST go by the time of the request: a license that moves in was created before. One that never expires is found
      // for ever.
      if (idempotency !== undefined && first !== undefined && !isPast(first, idempotency.at)) {
        return answer({ replay: first.licenseKey, requestHash: toBytes(first.requestHash) })
      }
      // MUST leave the license that has this key as it is, and keep no idempotency key for a license that it did not
      // store.
      if (licenses.has(license.licenseKey)) return answer('key_taken' as const)
      const stored: Change = ['licenses', license.licenseKey, { ...license, seq: (lastSeq += 1) }]
      if (idempotency === undefined) return answer('inserted' as const, stored)
      const { requestHash, expiresAt } = idempotency
      const row: IdempotencyKeyRow = {
        licenseKey: license.licenseKey,
        requestHash: toHex(requestHash),
        expiresAt,
      }
      return answer('inserted' as const, stored, ['idempotencyKeys', rowKey, row])
    },

    async updateLicense({ licenseKey, resellerId, patch, at }, call) {
      begin(call)
      const license = licenses.get(licenseKey)
      if (license === undefined) return answer('not_found' as const)
      // Ownership MUST be checked in the step that writes. In SQL: UPDATE … WHERE license_key = ? AND reseller_id = ?
      if (license.resellerId !== resellerId) return answer('not_owner' as const)
      // MUST replace the compared domain together with the domain, or the license is found by the one it had before. It
      // comes in the patch. MUST change only what was sent: two concurrent updates of different fields both take effect.
      return answer('updated' as const, [
        'licenses',
        licenseKey,
        { ...license, ...sent(patch), updatedAt: at },
      ])
    },

    async findLicense(licenseKey, call) {
      begin(call)
      const row = licenses.get(licenseKey)
      return row === undefined ? null : withoutOwn(row)
    },

    // Optional: a store that does not record uses leaves this out.
    async recordUse(kind, ids, at, call) {
      begin(call)
      const isUsed = ([key, { id, lastUsedOn = -1 }]: [string, CredentialRow]): boolean =>
        // MUST never lower a time: servers report in any order.
        key.startsWith(`${kind} `) && ids.includes(id) && lastUsedOn < at
      const used = [...credentials].filter(isUsed)
      return answer(
        undefined,
        ...used.map(([key, row]): Change => ['credentials', key, { ...row, lastUsedOn: at }]),
      )
    },

    // ---- Provisioning ----

    async insertClient(client, call) {
      begin(call)
      if (clients.has(client.clientId)) return answer('taken' as const)
      const row: ClientRow = { ...client, secretHashes: client.secretHashes.map(toHex) }
      return answer('inserted' as const, ['clients', client.clientId, row])
    },

    async updateClient(clientId, patch, call) {
      begin(call)
      const row = clients.get(clientId)
      if (row === undefined) return answer(false)
      // MUST change only what was sent: a concurrent rotation or revocation is kept.
      return answer(true, ['clients', clientId, { ...row, ...sent(patch) }])
    },

    async rotateClientSecret(clientId, newHash, call) {
      begin(call)
      const row = clients.get(clientId)
      if (row === undefined || row.clientType === 'public') return answer(false)
      // MUST be one step. In SQL: SET secret_hashes = the new hash and the first 32 bytes of the current value.
      const secretHashes = [toHex(newHash), ...row.secretHashes.slice(0, 1)]
      return answer(true, ['clients', clientId, { ...row, secretHashes }])
    },

    async revokeClient(clientId, at, call) {
      begin(call)
      // MUST leave no code that can be redeemed, even if the client was revoked before.
      const ended = unspent(codes, { clientId })
      const row = clients.get(clientId)
      if (row === undefined || row.revokedAt !== null) return answer(false, ...ended)
      return answer(true, ['clients', clientId, { ...row, revokedAt: at }], ...ended)
    },

    async insertAuthorizationCode(codeHash, code, call) {
      begin(call)
      const key = toHex(codeHash)
      // MUST be refused in the step that writes, or a code slips in during a revocation. In SQL: lock the client's row.
      const revokedAt = clients.get(code.clientId)?.revokedAt ?? null
      if (revokedAt !== null) throw new StorageError('conflict', 'The client is revoked.')
      if (codes.has(key)) throw new StorageError('conflict', 'The authorization code exists.')
      return answer(undefined, ['codes', key, code])
    },

    async insertReseller(reseller, call) {
      begin(call)
      if (resellers.has(reseller.resellerId)) return answer('taken' as const)
      return answer('inserted' as const, ['resellers', reseller.resellerId, reseller])
    },

    async findReseller(resellerId, call) {
      begin(call)
      const row = resellers.get(resellerId)
      return row === undefined ? null : { ...row }
    },

    async insertCredential(kind, hash, credential, call) {
      begin(call)
      const key = `${kind} ${toHex(hash)}`
      // MUST store no token for a reseller that nobody has created.
      if (kind === 'reseller_token' && !resellers.has(credential.ownerId)) return answer('no_owner' as const)
      requireFree(credentials, key, credential.id)
      return answer('inserted' as const, ['credentials', key, { ...credential, seq: (lastSeq += 1) }])
    },

    async revokeCredential(which, at, call) {
      begin(call)
      const matches = ([key, { id }]: [string, Credential]): boolean =>
        'id' in which ? id === which.id : key.endsWith(` ${toHex(which.hash)}`)
      const keys = [...credentials].filter(matches).map(([key]) => key)
      const revoked = keys.flatMap((key) => revocation(credentials, key, at))
      return answer(revoked.length > 0, ...revoked)
    },

    async revokeAccess(which, at, call) {
      begin(call)
      // MUST leave no token, however it races with redemptions: end the codes first, then the tokens that were bought
      // in the meantime. Here both happen in one turn; in SQL, use two statements in this order, each of which sees
      // what the one before it waited for.
      const ended = 'resellerId' in which ? [] : unspent(codes, which)
      const kind = 'resellerId' in which ? 'reseller_token ' : 'access_token '
      const isTheirs = ([key, row]: [string, Credential]): boolean =>
        key.startsWith(kind) && isOf(which, { clientId: row.ownerId, subject: row.subject })
      const keys = [...credentials].filter(isTheirs).map(([key]) => key)
      const revoked = keys.flatMap((key) => revocation(credentials, key, at))
      return answer({ tokens: revoked.length, codes: ended.length }, ...ended, ...revoked)
    },

    async changeLicense(licenseKey, change, at, call) {
      begin(call)
      const license = licenses.get(licenseKey)
      if (license === undefined) return answer(false)
      return answer(true, ['licenses', licenseKey, { ...license, ...sent(change), updatedAt: at }])
    },

    async deleteLicense(licenseKey, call) {
      begin(call)
      if (!licenses.has(licenseKey)) return answer(false)
      return answer(true, ['licenses', licenseKey, null])
    },

    async purgeExpired(at, call) {
      begin(call)
      const tokens = [...credentials].filter(
        ([key, row]) => key.startsWith('access_token ') && isPast(row, at),
      )
      const gone = new Set(tokens.map(([key]) => key))
      // MUST keep a spent code while its token exists: a replay must still be able to revoke the token.
      const spent = [...codes].filter(
        ([, row]) => isPast(row, at) && (gone.has(row.token ?? '') || !credentials.has(row.token ?? '')),
      )
      const old = [...idempotencyKeys].filter(([, row]) => isPast(row, at))
      const counts = { codes: spent.length, tokens: tokens.length, idempotency: old.length }
      return answer(
        counts,
        ...tokens.map(([key]): Change => ['credentials', key, null]),
        ...spent.map(([key]): Change => ['codes', key, null]),
        ...old.map(([key]): Change => ['idempotencyKeys', key, null]),
      )
    },

    // Optional: a store that cannot order its rows leaves this out.
    listing: listingOf((call): Rows => {
      begin(call)
      return { clients, resellers, credentials, licenses }
    }),

    async close() {
      if (closed) return
      closed = true
      await journal.close()
    },
  })
}

function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

function toBytes(hex: string): Uint8Array {
  return Uint8Array.from(Buffer.from(hex, 'hex'))
}

/** Returns the fields of a patch that are not undefined: the others MUST stay as they are. */
function sent<Patch extends object>(patch: Patch): Patch {
  return Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined)) as Patch
}

function isPast({ expiresAt }: { readonly expiresAt: number | null }, at: number): boolean {
  return expiresAt !== null && expiresAt <= at
}

/**
 * A hash MUST be unique within its kind, and an id across all kinds, or a new secret takes over an account. In SQL:
 * unique indexes.
 */
function requireFree(credentials: ReadonlyMap<string, Credential>, key: string, id: string): void {
  const taken = credentials.has(key) || [...credentials.values()].some((row) => row.id === id)
  if (taken) throw new StorageError('conflict', 'The credential exists.')
}

/**
 * Returns the change that revokes a credential, or none if it is gone or was revoked before, in which case it keeps its
 * time.
 */
function revocation(credentials: ReadonlyMap<string, Credential>, key: string, at: number): Change[] {
  const row = credentials.get(key)
  return row === undefined || row.revokedAt !== null ? [] : [['credentials', key, { ...row, revokedAt: at }]]
}

/**
 * Returns the changes that end the unspent codes of a client or a subject. Spent codes stay: a replay must still be
 * noticed.
 */
function unspent(codes: ReadonlyMap<string, CodeRow>, which: AccessReference): Change[] {
  return [...codes]
    .filter(([, row]) => row.redeemedAt === null && isOf(which, row))
    .map(([key]) => ['codes', key, null])
}

function isOf(
  which: AccessReference,
  row: { readonly clientId: string; readonly subject: string | null },
): boolean {
  if ('subject' in which) return row.subject === which.subject
  return row.clientId === ('clientId' in which ? which.clientId : which.resellerId)
}
