/**
 * A storage adapter to start your own from: copy this file and replace the maps by your database.
 *
 * It keeps its rows in memory and a journal of every change in a file. What matters is not how, but what each method
 * promises: read the comments beginning with MUST, and run the contract suite (`storage.test.ts`) until it is green.
 * Only the first seven methods are needed to serve requests; the rest is provisioning (`createAdmin`, the command line).
 */
import {
  StorageError,
  type AdminStorage,
  type AuthorizationCode,
  type Client,
  type Credential,
  type License,
} from 'utility-api/storage'
import { openJournal, type Change } from './journal.ts'

// Rows as JSON can hold them: bytes as hexadecimal text.
type ClientRow = Omit<Client, 'secretHashes'> & { readonly secretHashes: readonly string[] }
type CodeRow = AuthorizationCode & { readonly token?: string }
type AnswerRow = { readonly license: License; readonly requestHash: string; readonly expiresAt: number }

export async function journalStorage(path: string): Promise<AdminStorage> {
  const clients = new Map<string, ClientRow>()
  const codes = new Map<string, CodeRow>()
  const credentials = new Map<string, Credential>()
  const licenses = new Map<string, License>()
  const answers = new Map<string, AnswerRow>()
  const tables: Record<string, Map<string, object>> = { clients, codes, credentials, licenses, answers }

  function apply([table, key, row]: Change): void {
    if (row === null) tables[table]?.delete(key)
    else tables[table]?.set(key, row)
  }
  const journal = await openJournal(path, apply)
  let closed = false

  /** A closed store MUST say `unavailable`, never "not found": a shutdown is no wrong password. */
  function requireOpen(): void {
    if (closed) throw new StorageError('unavailable', 'The storage is closed.')
  }

  /**
   * Answers once the changes are safe. Deciding and applying happen in one turn of the event loop, so nobody comes in
   * between; a store with many writers needs a conditional statement or a transaction here.
   *
   * Waits even when there is nothing to change: "taken" or "spent" may rest on a change that is still on its way to the
   * disk, and must not be told before it.
   */
  async function answer<Result>(result: Result, ...changes: Change[]): Promise<Result> {
    // Through JSON and back: what is kept must share nothing with what the caller holds.
    for (const change of JSON.parse(JSON.stringify(changes)) as Change[]) apply(change)
    await journal.commit(changes)
    return result
  }

  return {
    // ---- The seven methods that requests need ----

    async findClient(clientId) {
      requireOpen()
      const row = clients.get(clientId)
      if (row === undefined) return null
      // MUST be a copy, down to the arrays: callers may do with it what they like.
      return { ...row, redirectUris: [...row.redirectUris], secretHashes: row.secretHashes.map(toBytes) }
    },

    async findAuthorizationCode(codeHash) {
      requireOpen()
      // Spent and expired codes too: the core tells them apart, and revokes the token when a spent one is replayed.
      const row = codes.get(toHex(codeHash))
      if (row === undefined) return null
      const { token: _, ...code } = row
      return code
    },

    async redeemAuthorizationCode(codeHash, at, { id, hash, ownerId, scope, expiresAt }) {
      requireOpen()
      const key = toHex(codeHash)
      const row = codes.get(key)
      // MUST be true for exactly one caller per code. In SQL: UPDATE … WHERE redeemed_at IS NULL, then count the rows.
      if (row === undefined || row.redeemedAt !== null) return answer(false)
      const token = `access_token ${toHex(hash)}`
      // MUST spend the code and store the token, or neither: what can fail comes before the first change.
      requireFree(credentials, token, id)
      const credential: Credential = { id, ownerId, scope, expiresAt, revokedAt: null }
      return answer(
        true,
        ['codes', key, { ...row, redeemedAt: at, token }],
        ['credentials', token, credential],
      )
    },

    async revokeAccessTokensOfCode(codeHash, at) {
      requireOpen()
      const token = codes.get(toHex(codeHash))?.token ?? ''
      const revoked = revocation(credentials, token, at)
      return answer(revoked.length, ...revoked)
    },

    async findCredential(kind, hash) {
      requireOpen()
      // MUST find this kind only: an API key is no reseller token, even if somebody made them of one secret.
      const row = credentials.get(`${kind} ${toHex(hash)}`)
      return row === undefined ? null : { ...row }
    },

    async insertLicense(license, idempotency) {
      requireOpen()
      const place = idempotency === undefined ? '' : `${toHex(idempotency.keyHash)} ${idempotency.resellerId}`
      const first = answers.get(place)
      // MUST give back the first answer as it was, so it is kept as it was: the licence may have changed since.
      if (first !== undefined && first.expiresAt > license.createdAt) {
        return answer({ replay: { ...first.license }, requestHash: toBytes(first.requestHash) })
      }
      // MUST leave the licence that has this key as it is, and keep no idempotency key for a licence it did not store.
      if (licenses.has(license.licenseKey)) return answer('key_taken' as const)
      const stored: Change = ['licenses', license.licenseKey, license]
      if (idempotency === undefined) return answer('inserted' as const, stored)
      const { requestHash, expiresAt } = idempotency
      const row: AnswerRow = { license, requestHash: toHex(requestHash), expiresAt }
      return answer('inserted' as const, stored, ['answers', place, row])
    },

    async updateLicense({ licenseKey, resellerId, patch, at }) {
      requireOpen()
      const license = licenses.get(licenseKey)
      if (license === undefined) return answer('not_found' as const)
      // MUST be tested where it is written. In SQL: UPDATE … WHERE license_key = ? AND reseller_id = ?
      if (license.resellerId !== resellerId) return answer('not_owner' as const)
      // MUST change only what was sent: two updates of different fields at once both stay.
      return answer('updated' as const, ['licenses', licenseKey, { ...license, ...patch, updatedAt: at }])
    },

    // ---- Provisioning ----

    async insertClient(client) {
      requireOpen()
      if (clients.has(client.clientId)) return answer('taken' as const)
      const row: ClientRow = { ...client, secretHashes: client.secretHashes.map(toHex) }
      return answer('inserted' as const, ['clients', client.clientId, row])
    },

    async setClientSecrets(clientId, secretHashes) {
      requireOpen()
      const row = clients.get(clientId)
      if (row === undefined) return answer(false)
      return answer(true, ['clients', clientId, { ...row, secretHashes: secretHashes.map(toHex) }])
    },

    async revokeClient(clientId, at) {
      requireOpen()
      const row = clients.get(clientId)
      if (row === undefined || row.revokedAt !== null) return answer(false)
      return answer(true, ['clients', clientId, { ...row, revokedAt: at }])
    },

    async insertAuthorizationCode(codeHash, code) {
      requireOpen()
      const key = toHex(codeHash)
      if (codes.has(key)) throw new StorageError('conflict', 'The authorization code exists.')
      return answer(undefined, ['codes', key, code])
    },

    async insertCredential(kind, hash, credential) {
      requireOpen()
      const key = `${kind} ${toHex(hash)}`
      requireFree(credentials, key, credential.id)
      return answer(undefined, ['credentials', key, credential])
    },

    async revokeCredential(which, at) {
      requireOpen()
      const matches = ([key, { id }]: [string, Credential]): boolean =>
        'id' in which ? id === which.id : key.endsWith(` ${toHex(which.hash)}`)
      const keys = [...credentials].filter(matches).map(([key]) => key)
      const revoked = keys.flatMap((key) => revocation(credentials, key, at))
      return answer(revoked.length > 0, ...revoked)
    },

    async getLicense(licenseKey) {
      requireOpen()
      const license = licenses.get(licenseKey)
      return license === undefined ? null : { ...license }
    },

    async listLicenses({ resellerId, after = '0', limit }) {
      requireOpen()
      // A map keeps its order of insertion, and licences are never deleted: a place in it is a page mark that stays true.
      if (!/^\d+$/.test(after)) throw new StorageError('invalid', 'This is no place in the list of licences.')
      const rest = [...licenses.values()].map((license, place) => ({ license, place })).slice(Number(after))
      const wanted = rest.filter(
        ({ license }) => resellerId === undefined || license.resellerId === resellerId,
      )
      const page = wanted.slice(0, limit).map(({ license }) => ({ ...license }))
      const next = wanted[limit]
      return next === undefined ? { licenses: page } : { licenses: page, next: String(next.place) }
    },

    async purgeExpired(at) {
      requireOpen()
      const tokens = [...credentials].filter(
        ([key, row]) => key.startsWith('access_token ') && isPast(row, at),
      )
      const gone = new Set(tokens.map(([key]) => key))
      // MUST keep a spent code while its token stands: a replay must still be able to revoke that.
      const spent = [...codes].filter(
        ([, row]) => isPast(row, at) && (gone.has(row.token ?? '') || !credentials.has(row.token ?? '')),
      )
      const old = [...answers].filter(([, row]) => isPast(row, at))
      const counts = { codes: spent.length, tokens: tokens.length, idempotency: old.length }
      return answer(
        counts,
        ...tokens.map(([key]): Change => ['credentials', key, null]),
        ...spent.map(([key]): Change => ['codes', key, null]),
        ...old.map(([key]): Change => ['answers', key, null]),
      )
    },

    async close() {
      if (closed) return
      closed = true
      await journal.close()
    },
  }
}

function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

function toBytes(hex: string): Uint8Array {
  return Uint8Array.from(Buffer.from(hex, 'hex'))
}

function isPast({ expiresAt }: { readonly expiresAt: number | null }, at: number): boolean {
  return expiresAt !== null && expiresAt <= at
}

/** A hash of its kind, and an id of any kind, MUST be there once only, or a new secret takes an account over. In SQL: unique indexes. */
function requireFree(credentials: ReadonlyMap<string, Credential>, key: string, id: string): void {
  const taken = credentials.has(key) || [...credentials.values()].some((row) => row.id === id)
  if (taken) throw new StorageError('conflict', 'The credential exists.')
}

/** The change that revokes a credential; none if it is gone or was revoked before, and then keeps its time. */
function revocation(credentials: ReadonlyMap<string, Credential>, key: string, at: number): Change[] {
  const row = credentials.get(key)
  return row === undefined || row.revokedAt !== null ? [] : [['credentials', key, { ...row, revokedAt: at }]]
}
