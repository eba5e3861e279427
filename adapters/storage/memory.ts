/**
 * A store in the memory of the process, for tests and trials.
 *
 * @module utility-api/storage/memory
 */
import { StorageError } from 'utility-api/storage'
import type {
  AdminStorage,
  AuthorizationCode,
  Client,
  Credential,
  CredentialKind,
  CredentialReference,
  InsertLicenseResult,
  License,
  LicenseList,
  LicensePage,
  LicenseUpdate,
  NewAccessToken,
  NewIdempotencyKey,
  PurgeCounts,
  UpdateLicenseResult,
} from 'utility-api/storage'

/** Rows of all kinds together; what comes after is refused, so that a forgotten trial cannot eat the machine. */
const maxRows = 1_000_000

interface StoredCode {
  readonly code: AuthorizationCode
  /** The key of the access token it bought; `''` while it is unspent. */
  readonly token: string
}

interface StoredAnswer {
  readonly license: License
  readonly requestHash: Uint8Array
  readonly expiresAt: number
}

/** Where a credential stands. */
interface Place {
  readonly kind: CredentialKind
  readonly key: string
}

interface Tables {
  readonly clients: Map<string, Client>
  readonly codes: Map<string, StoredCode>
  /** By hash. */
  readonly credentials: Readonly<Record<CredentialKind, Map<string, Credential>>>
  readonly credentialIds: Map<string, Place>
  readonly licenses: Map<string, License>
  /** License keys in order of creation. */
  readonly licenseOrder: string[]
  readonly idempotencyKeys: Map<string, StoredAnswer>
}

/**
 * Makes a store that lives and dies with the process: for tests and trials, never for licences somebody paid for.
 *
 * Atomic, because each method runs in one turn of the event loop. Holds a million rows of all kinds together and then
 * refuses new ones with a {@link StorageError} of kind `unavailable`; nothing is evicted. `purgeExpired` makes room.
 *
 * @example
 * ```ts
 * import { memoryStorage } from 'utility-api/storage/memory'
 *
 * const storage = memoryStorage()
 * ```
 *
 * @group Storage
 */
export function memoryStorage(): AdminStorage {
  const tables: Tables = {
    clients: new Map(),
    codes: new Map(),
    credentials: { access_token: new Map(), reseller_token: new Map(), api_key: new Map() },
    credentialIds: new Map(),
    licenses: new Map(),
    licenseOrder: [],
    idempotencyKeys: new Map(),
  }
  let closed = false

  function open(): Tables {
    if (closed) throw new StorageError('unavailable', 'The storage is closed.')
    return tables
  }
  function openForInsert(): Tables {
    const { clients, codes, credentialIds, licenses, idempotencyKeys } = open()
    if (clients.size + codes.size + credentialIds.size + licenses.size + idempotencyKeys.size < maxRows)
      return tables
    throw new StorageError('unavailable', `The memory storage is full: it holds ${maxRows} rows.`)
  }

  return {
    ping: () => void open(),
    close: () => {
      closed = true
    },
    findClient: (clientId) => {
      const client = open().clients.get(clientId)
      return client === undefined ? null : copyClient(client)
    },
    findAuthorizationCode: (codeHash) => copy(open().codes.get(toKey(codeHash))?.code),
    redeemAuthorizationCode: (codeHash, at, token) => redeem(openForInsert(), toKey(codeHash), at, token),
    revokeAccessTokensOfCode: (codeHash, at) => {
      const key = open().codes.get(toKey(codeHash))?.token ?? ''
      return revoke(tables, { kind: 'access_token', key }, at) ? 1 : 0
    },
    findCredential: (kind, hash) => copy(open().credentials[kind].get(toKey(hash))),
    insertLicense: (license, idempotency) => insertLicense(openForInsert(), license, idempotency),
    updateLicense: (update) => updateLicense(open(), update),
    insertClient: (client) => {
      const { clients } = openForInsert()
      if (clients.has(client.clientId)) return 'taken'
      clients.set(client.clientId, copyClient(client))
      return 'inserted'
    },
    setClientSecrets: (clientId, secretHashes) => {
      const client = open().clients.get(clientId)
      if (client === undefined) return false
      tables.clients.set(clientId, copyClient({ ...client, secretHashes }))
      return true
    },
    revokeClient: (clientId, at) => {
      const client = open().clients.get(clientId)
      if (client === undefined || client.revokedAt !== null) return false
      tables.clients.set(clientId, { ...client, revokedAt: at })
      return true
    },
    insertAuthorizationCode: (codeHash, code) => {
      const { codes } = openForInsert()
      if (codes.has(toKey(codeHash))) throw new StorageError('conflict', 'The authorization code exists.')
      codes.set(toKey(codeHash), { code: { ...code }, token: '' })
    },
    insertCredential: (kind, hash, credential) =>
      insertCredential(openForInsert(), { kind, key: toKey(hash) }, { ...credential }),
    revokeCredential: (which, at) => revokeCredential(open(), which, at),
    getLicense: (licenseKey) => copy(open().licenses.get(licenseKey)),
    listLicenses: (page) => listLicenses(open(), page),
    purgeExpired: (at) => purgeExpired(open(), at),
  }
}

/** A copy of a row that holds nothing but text and numbers. */
function copy<Row extends object>(row: Row | undefined): Row | null {
  return row === undefined ? null : { ...row }
}

function copyClient(client: Client): Client {
  const secretHashes = client.secretHashes.map((each) => Uint8Array.from(each))
  return { ...client, secretHashes, redirectUris: [...client.redirectUris] }
}

function toKey(hash: Uint8Array): string {
  return Buffer.from(hash.buffer, hash.byteOffset, hash.length).toString('latin1')
}

function redeem(tables: Tables, codeHash: string, at: number, token: NewAccessToken): boolean {
  const row = tables.codes.get(codeHash)
  if (row === undefined || row.code.redeemedAt !== null) return false
  const { id, hash, ownerId, scope, expiresAt } = token
  const key = toKey(hash)
  // First what can fail: a token that is refused must leave the code unspent.
  insertCredential(tables, { kind: 'access_token', key }, { id, ownerId, scope, expiresAt, revokedAt: null })
  tables.codes.set(codeHash, { code: { ...row.code, redeemedAt: at }, token: key })
  return true
}

function insertCredential(tables: Tables, place: Place, credential: Credential): void {
  const credentials = tables.credentials[place.kind]
  if (credentials.has(place.key) || tables.credentialIds.has(credential.id)) {
    throw new StorageError('conflict', 'The credential exists.')
  }
  credentials.set(place.key, credential)
  tables.credentialIds.set(credential.id, place)
}

function revokeCredential(tables: Tables, which: CredentialReference, at: number): boolean {
  if ('id' in which) {
    const place = tables.credentialIds.get(which.id)
    return place !== undefined && revoke(tables, place, at)
  }
  const key = toKey(which.hash)
  const kinds = Object.keys(tables.credentials) as CredentialKind[]
  return kinds.map((kind) => revoke(tables, { kind, key }, at)).includes(true)
}

function revoke(tables: Tables, { kind, key }: Place, at: number): boolean {
  const credential = tables.credentials[kind].get(key)
  if (credential === undefined || credential.revokedAt !== null) return false
  tables.credentials[kind].set(key, { ...credential, revokedAt: at })
  return true
}

function insertLicense(
  tables: Tables,
  license: License,
  idempotency?: NewIdempotencyKey,
): InsertLicenseResult {
  const place = idempotency === undefined ? '' : `${toKey(idempotency.keyHash)}${idempotency.resellerId}`
  const answer = tables.idempotencyKeys.get(place)
  if (answer !== undefined && answer.expiresAt > license.createdAt) {
    return { replay: { ...answer.license }, requestHash: Uint8Array.from(answer.requestHash) }
  }
  if (tables.licenses.has(license.licenseKey)) return 'key_taken'
  tables.licenses.set(license.licenseKey, { ...license })
  tables.licenseOrder.push(license.licenseKey)
  if (idempotency !== undefined) {
    const requestHash = Uint8Array.from(idempotency.requestHash)
    tables.idempotencyKeys.set(place, {
      license: { ...license },
      requestHash,
      expiresAt: idempotency.expiresAt,
    })
  }
  return 'inserted'
}

function updateLicense(
  tables: Tables,
  { licenseKey, resellerId, patch, at }: LicenseUpdate,
): UpdateLicenseResult {
  const license = tables.licenses.get(licenseKey)
  if (license === undefined) return 'not_found'
  if (license.resellerId !== resellerId) return 'not_owner'
  const {
    registeredTo = license.registeredTo,
    domainOrIp = license.domainOrIp,
    status = license.status,
  } = patch
  tables.licenses.set(licenseKey, { ...license, registeredTo, domainOrIp, status, updatedAt: at })
  return 'updated'
}

function listLicenses(tables: Tables, { resellerId, after = '0', limit }: LicensePage): LicenseList {
  const { licenses: stored, licenseOrder } = tables
  if (!/^\d{1,15}$/.test(after))
    throw new StorageError('invalid', 'This is no place in the list of licences.')
  const licenses: License[] = []
  for (let place = Number(after); place < licenseOrder.length; place += 1) {
    const license = stored.get(licenseOrder[place] ?? '')
    if (license === undefined || (resellerId !== undefined && license.resellerId !== resellerId)) continue
    if (licenses.length === limit) return { licenses, next: String(place) }
    licenses.push({ ...license })
  }
  return { licenses }
}

function purgeExpired(tables: Tables, at: number): PurgeCounts {
  const { codes, credentials, credentialIds, idempotencyKeys } = tables
  const tokens = deleteWhere(
    credentials.access_token,
    ({ id, expiresAt }) => (expiresAt ?? Infinity) <= at && credentialIds.delete(id),
  )
  return {
    tokens,
    // A spent code stays with its token: without it a replay could no longer revoke that.
    codes: deleteWhere(
      codes,
      ({ code, token }) => code.expiresAt <= at && !credentials.access_token.has(token),
    ),
    idempotency: deleteWhere(idempotencyKeys, ({ expiresAt }) => expiresAt <= at),
  }
}

function deleteWhere<Row>(rows: Map<string, Row>, matches: (row: Row) => boolean): number {
  let count = 0
  for (const [key, row] of rows) if (matches(row) && rows.delete(key)) count += 1
  return count
}
