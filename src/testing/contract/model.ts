import type {
  AuthorizationCode,
  Client,
  Credential,
  CredentialKind,
  Reseller,
} from '../../domain/credentials.ts'
import { comparedDomain } from '../../domain/compared-domain.ts'
import { toLicense, type License } from '../../domain/license.ts'
import type { LicensePage } from '../../ports/storage-listing.ts'
import { StorageError, type AccessReference, type NewIdempotencyKey } from '../../ports/storage.ts'
import type { BoundAdmin, RecordUse } from './bound.ts'

/** The rows of the reference store. They are replaced, never changed, so that copying the maps copies everything. */
interface Rows {
  readonly clients: ReadonlyMap<string, Client>
  readonly resellers: ReadonlyMap<string, Reseller>
  /** By hash. `token` is the key of the access token issued for the code, or `''` until the code is spent. */
  readonly codes: ReadonlyMap<string, { readonly code: AuthorizationCode; readonly token: string }>
  /** By kind and hash. */
  readonly credentials: ReadonlyMap<
    string,
    { readonly kind: CredentialKind; readonly credential: Credential }
  >
  /** By id. */
  readonly lastUses: ReadonlyMap<string, number>
  readonly licenses: ReadonlyMap<string, License>
  /** By reseller and hash of the idempotency key. */
  readonly idempotencyKeys: ReadonlyMap<string, HeldKey>
  /** Hashes and identifiers of deleted rows. The port leaves open what a store does if they come again. */
  readonly gone: ReadonlySet<string>
}

interface HeldKey {
  readonly replay: string
  readonly requestHash: Uint8Array
  readonly expiresAt: number | null
  /**
   * It had expired when a license under its key was refused, because the port leaves open whether the row stays till a
   * purge.
   */
  readonly mayBeGone?: true
}

type Mutable<Type> = {
  [Key in keyof Type]: Type[Key] extends ReadonlyMap<infer K, infer V>
    ? Map<K, V>
    : Type[Key] extends ReadonlySet<infer Item>
      ? Set<Item>
      : Type[Key]
}

/** The kinds of rows that are listed. */
export type Listed = 'clients' | 'resellers' | 'licenses' | CredentialKind

export type LicenseFilters = Pick<LicensePage, 'resellerId' | 'comparedDomains' | 'status' | 'reference'>

/** What a history calls: the methods of a store, and its complete lists. */
export interface Asked extends BoundAdmin {
  /** Returns every row of a kind: licenses in order, the others in any order. Pages hold `limit` rows. */
  list(what: Listed, limit: number): unknown
  /** Returns every license that passes the filters, in order. */
  listLicenses(filters: LicenseFilters, limit: number): unknown
  /** Notes uses, if the store records them. */
  noteUse(...use: Parameters<RecordUse>): unknown
}

/** The store as the port describes it, one call at a time. */
export interface Model extends Asked {
  /** The first half of {@link BoundAdmin.revokeClient}. */
  closeClient(clientId: string, at: number): boolean
  /** The first half of {@link BoundAdmin.revokeAccess}, the second of `revokeClient`. */
  endCodes(which: AccessReference): number
  /** The second half of {@link BoundAdmin.revokeAccess}. */
  revokeTokens(which: AccessReference, at: number): number
  copy(): Model
  /** Returns all rows as text, which is equal for models that nothing can tell apart. */
  text(): string
}

/** Thrown if the port leaves the answer open. */
export class Unspecified extends Error {}

const empty: Rows = {
  clients: new Map(),
  resellers: new Map(),
  codes: new Map(),
  credentials: new Map(),
  lastUses: new Map(),
  licenses: new Map(),
  idempotencyKeys: new Map(),
  gone: new Set(),
}

function keyOf(hash: Uint8Array): string {
  return Buffer.from(hash).toString('hex')
}

/** Returns text for any value, the same for equal values: hashes in hex, fields in order. */
export function show(value: unknown): string {
  if (value instanceof Uint8Array) return `<${keyOf(value)}>`
  if (typeof value === 'bigint') return `${value}n`
  if (Array.isArray(value)) return `[${value.map(show).join(', ')}]`
  if (value instanceof Map) return show([...(value as Map<unknown, unknown>)])
  if (value instanceof Set) return show([...(value as Set<unknown>)].map(show).toSorted())
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'nothing'
  const fields = Object.entries(value).filter(([, each]) => each !== undefined)
  const sorted = fields.toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{ ${sorted.map(([key, each]) => `${key}: ${show(each)}`).join(', ')} }`
}

/** Returns whether a reference includes the access of this owner and subject. */
function isOf(which: AccessReference, owner: string, subject: string | null): boolean {
  if ('subject' in which) return subject === which.subject
  return owner === ('clientId' in which ? which.clientId : which.resellerId)
}

function sent<Patch extends object>(patch: Patch): Partial<Patch> {
  const fields = Object.entries(patch).filter(([, value]) => value !== undefined)
  return Object.fromEntries(fields) as Partial<Patch>
}

/** Creates a store of plain maps to compare others with: slow, but simple enough to be obviously right. */
export function createModel(from: Rows = empty): Model {
  const rows: Mutable<Rows> = {
    clients: new Map(from.clients),
    resellers: new Map(from.resellers),
    codes: new Map(from.codes),
    credentials: new Map(from.credentials),
    lastUses: new Map(from.lastUses),
    licenses: new Map(from.licenses),
    idempotencyKeys: new Map(from.idempotencyKeys),
    gone: new Set(from.gone),
  }
  const { clients, resellers, codes, credentials, lastUses, licenses, idempotencyKeys, gone } = rows

  function refuseGone(...keys: string[]): void {
    if (keys.some((key) => gone.has(key))) throw new Unspecified()
  }
  function isTaken(rowKey: string, id: string): boolean {
    return credentials.has(rowKey) || [...credentials.values()].some(({ credential }) => credential.id === id)
  }
  function addCredential(kind: CredentialKind, hash: string, credential: Credential): void {
    const rowKey = `${kind} ${hash}`
    refuseGone(rowKey, `id ${credential.id}`)
    if (isTaken(rowKey, credential.id)) throw new StorageError('conflict', 'taken')
    credentials.set(rowKey, { kind, credential })
  }
  function revokeWhere(at: number, test: (rowKey: string, credential: Credential) => boolean): number {
    const live = [...credentials].filter(
      ([rowKey, { credential }]) => credential.revokedAt === null && test(rowKey, credential),
    )
    for (const [rowKey, { kind, credential }] of live)
      credentials.set(rowKey, { kind, credential: { ...credential, revokedAt: at } })
    return live.length
  }
  function changeLicense(licenseKey: string, change: Partial<License>, at: number): boolean {
    const license = licenses.get(licenseKey)
    if (license !== undefined)
      licenses.set(licenseKey, toLicense({ ...license, ...sent(change), updatedAt: at }))
    return license !== undefined
  }

  const model: Model = {
    copy: () => createModel(rows),
    text: () => show(rows),
    findClient: (clientId) => clients.get(clientId) ?? null,
    findAuthorizationCode: (hash) => {
      refuseGone(`code ${keyOf(hash)}`)
      return codes.get(keyOf(hash))?.code ?? null
    },
    redeemAuthorizationCode: (codeHash, at, { hash, ...token }) => {
      const found = codes.get(keyOf(codeHash))
      if (found === undefined || found.code.redeemedAt !== null) return false
      addCredential('access_token', keyOf(hash), { ...token, revokedAt: null })
      codes.set(keyOf(codeHash), {
        code: { ...found.code, redeemedAt: at },
        token: `access_token ${keyOf(hash)}`,
      })
      return true
    },
    revokeAccessTokensOfCode: (codeHash, at) =>
      revokeWhere(at, (rowKey) => rowKey === codes.get(keyOf(codeHash))?.token),
    findCredential: (kind, hash) => credentials.get(`${kind} ${keyOf(hash)}`)?.credential ?? null,
    insertLicense: (license, idempotency?: NewIdempotencyKey) => {
      const rowKey = idempotency && show([idempotency.resellerId, idempotency.keyHash])
      const held = idempotencyKeys.get(rowKey ?? '')
      if (held !== undefined && (held.expiresAt ?? Infinity) > (idempotency?.at ?? 0))
        return { replay: held.replay, requestHash: held.requestHash }
      if (licenses.has(license.licenseKey)) {
        if (held !== undefined && rowKey !== undefined)
          idempotencyKeys.set(rowKey, { ...held, mayBeGone: true })
        return 'key_taken'
      }
      licenses.set(license.licenseKey, toLicense(license))
      if (idempotency !== undefined && rowKey !== undefined) {
        const { requestHash, expiresAt } = idempotency
        idempotencyKeys.set(rowKey, { replay: license.licenseKey, requestHash, expiresAt })
      }
      return 'inserted'
    },
    updateLicense: ({ licenseKey, resellerId, patch, at }) => {
      const license = licenses.get(licenseKey)
      if (license === undefined) return 'not_found'
      if (license.resellerId !== resellerId) return 'not_owner'
      changeLicense(licenseKey, patch, at)
      return 'updated'
    },
    findLicense: (licenseKey) => licenses.get(licenseKey) ?? null,
    insertClient: (client) => {
      if (clients.has(client.clientId)) return 'taken'
      clients.set(client.clientId, client)
      return 'inserted'
    },
    updateClient: (clientId, patch) => {
      const client = clients.get(clientId)
      if (client !== undefined) clients.set(clientId, { ...client, ...sent(patch) })
      return client !== undefined
    },
    rotateClientSecret: (clientId, newHash) => {
      const client = clients.get(clientId)
      if (client === undefined || client.clientType === 'public') return false
      clients.set(clientId, { ...client, secretHashes: [newHash, ...client.secretHashes.slice(0, 1)] })
      return true
    },
    revokeClient: (clientId, at) => {
      const revoked = model.closeClient(clientId, at)
      model.endCodes({ clientId })
      return revoked
    },
    closeClient: (clientId, at) => {
      const client = clients.get(clientId)
      if (client === undefined || client.revokedAt !== null) return false
      clients.set(clientId, { ...client, revokedAt: at })
      return true
    },
    insertAuthorizationCode: (hash, code) => {
      const isRevoked = (clients.get(code.clientId)?.revokedAt ?? null) !== null
      if (isRevoked || codes.has(keyOf(hash))) throw new StorageError('conflict', 'revoked or taken')
      refuseGone(`code ${keyOf(hash)}`)
      codes.set(keyOf(hash), { code, token: '' })
    },
    insertReseller: (reseller) => {
      if (resellers.has(reseller.resellerId)) return 'taken'
      resellers.set(reseller.resellerId, reseller)
      return 'inserted'
    },
    findReseller: (resellerId) => resellers.get(resellerId) ?? null,
    insertCredential: (kind, hash, credential) => {
      if (kind === 'reseller_token' && !resellers.has(credential.ownerId)) {
        // Two refusals apply, and the port does not say which comes first.
        if (isTaken(`${kind} ${keyOf(hash)}`, credential.id)) throw new Unspecified()
        return 'no_owner'
      }
      addCredential(kind, keyOf(hash), credential)
      return 'inserted'
    },
    revokeCredential: (which, at) =>
      revokeWhere(at, (rowKey, { id }) =>
        'id' in which ? id === which.id : rowKey.endsWith(` ${keyOf(which.hash)}`),
      ) > 0,
    endCodes: (which) => {
      if ('resellerId' in which) return 0
      const isTheirs = ({ code }: { code: AuthorizationCode }): boolean =>
        code.redeemedAt === null && isOf(which, code.clientId, code.subject)
      const ended = removeWhere(codes, isTheirs)
      for (const [hash] of ended) gone.add(`code ${hash}`)
      return ended.length
    },
    revokeTokens: (which, at) => {
      const kind = 'resellerId' in which ? 'reseller_token ' : 'access_token '
      return revokeWhere(
        at,
        (rowKey, { ownerId, subject }) => rowKey.startsWith(kind) && isOf(which, ownerId, subject),
      )
    },
    revokeAccess: (which, at) => {
      const ended = model.endCodes(which)
      return { codes: ended, tokens: model.revokeTokens(which, at) }
    },
    changeLicense,
    deleteLicense: (licenseKey) => licenses.delete(licenseKey),
    purgeExpired: (at) => {
      const isLate = (expiresAt: number | null): boolean => expiresAt !== null && expiresAt <= at
      for (const { code, token } of codes.values()) {
        const bought = credentials.get(token)?.credential
        // Its token is of no use but still there, so keeping the code and deleting it are both right.
        if (isLate(code.expiresAt) && bought && bought.revokedAt !== null && !isLate(bought.expiresAt))
          throw new Unspecified()
      }
      if ([...idempotencyKeys.values()].some(({ mayBeGone, expiresAt }) => mayBeGone && isLate(expiresAt)))
        throw new Unspecified()
      const tokens = removeWhere(
        credentials,
        ({ kind, credential }) => kind === 'access_token' && isLate(credential.expiresAt),
      )
      for (const [rowKey, { credential }] of tokens) gone.add(rowKey).add(`id ${credential.id}`)
      const ended = removeWhere(codes, ({ code, token }) => isLate(code.expiresAt) && !credentials.has(token))
      for (const [hash] of ended) gone.add(`code ${hash}`)
      const forgotten = removeWhere(idempotencyKeys, ({ expiresAt }) => isLate(expiresAt))
      return { codes: ended.length, tokens: tokens.length, idempotency: forgotten.length }
    },
    list: (what) => {
      if (what === 'licenses') return [...licenses.values()]
      if (what === 'resellers') return inAnyOrder([...resellers.values()])
      if (what === 'clients')
        return inAnyOrder([...clients.values()].map(({ secretHashes: _, ...client }) => client))
      const ofKind = [...credentials.values()].filter(({ kind }) => kind === what)
      return inAnyOrder(
        ofKind.map(({ kind, credential }) => ({
          ...credential,
          kind,
          lastUsedOn: lastUses.get(credential.id) ?? null,
        })),
      )
    },
    listLicenses: ({ resellerId, comparedDomains, status, reference }) =>
      [...licenses.values()].filter(
        (license) =>
          license.resellerId === (resellerId ?? license.resellerId) &&
          license.status === (status ?? license.status) &&
          license.reference === (reference ?? license.reference) &&
          (comparedDomains?.includes(comparedDomain(license.domainOrIp)) ?? true),
      ),
    noteUse: (kind, ids, at) => {
      const known = [...credentials.values()].filter(
        (row) => row.kind === kind && ids.includes(row.credential.id),
      )
      for (const { credential } of known)
        lastUses.set(credential.id, Math.max(at, lastUses.get(credential.id) ?? at))
    },
  }
  return model
}

/** Removes rows and returns them. */
function removeWhere<Row>(map: Map<string, Row>, test: (row: Row) => boolean): [string, Row][] {
  const doomed = [...map].filter(([, row]) => test(row))
  for (const [key] of doomed) map.delete(key)
  return doomed
}

/** Returns the rows as text, in an order that has no meaning. */
export function inAnyOrder(rows: readonly object[]): string[] {
  return rows.map(show).toSorted()
}
