import { isUint8Array } from 'node:util/types'
import {
  clientTypes,
  credentialKinds,
  isScope,
  type AuthorizationCode,
  type Client,
  type Credential,
  type Reseller,
} from '../domain/credentials.ts'
import { invalidOption } from '../domain/arguments.ts'
import { hasAtMostCodePoints } from '../domain/header-text.ts'
import type { Compared, LicenseChange, NewLicense } from '../domain/license.ts'
import type { MaybePromise } from '../domain/maybe-promise.ts'
import { StorageError, type AdminStorage, type ClientPatch } from '../ports/storage.ts'

/**
 * Makes a storage refuse values that it would change or lose: an expiry of `NaN`, which SQL and JSON keep as none; an
 * identifier that is a number; a scope with two spaces. Returns the same object.
 *
 * A refusal is a {@link StorageError} of the kind `invalid`, which names the method and the member. The storages of
 * this package refuse by it, and the cases of `storageContract` expect it of every storage that can provision. Lookups,
 * exchanges and a reseller's updates are left as they are, because the library calls them, with values that it has
 * checked.
 *
 * @example
 * ```ts
 * import { withCheckedRows } from 'utility-api/storage'
 * import { memoryStorage } from 'utility-api/storage/memory'
 *
 * // As a storage of your own does with the methods that it has. One of this package has these checks already.
 * export const storage = withCheckedRows({ ...memoryStorage() })
 * ```
 *
 * @throws `UtilityApiError` `invalid_options` if it is no storage that can provision
 *
 * @group Storage
 */
export function withCheckedRows<Storage extends AdminStorage>(storage: Storage): Storage {
  const methods = storage as unknown as Record<string, Method>
  const missing = Object.keys(checks).find((name) => typeof methods?.[name] !== 'function')
  if (missing !== undefined)
    throw invalidOption('storage', `must have the methods of AdminStorage, and lacks ${missing}`)
  for (const [name, check] of Object.entries(checks as Record<string, unknown>)) {
    const method = (methods[name] as Method).bind(storage)
    methods[name] = (...args) => {
      const problem = (check as Check)(...args)
      if (problem === null) return method(...args)
      // Rejects like a call that fails, so nothing is thrown outside the promise.
      return Promise.reject(new StorageError('invalid', `${name}: ${problem}.`))
    }
  }
  return storage
}

type Method = (...args: unknown[]) => MaybePromise<unknown>

/** Returns what is wrong with the arguments of a method, or null. */
type Check = (...args: unknown[]) => string | null

/** What a value must be, as a sentence goes on after "must be". */
interface Rule {
  readonly be: string
  readonly fits: (value: unknown) => boolean
}

/** A rule for each member of a row: a member without one does not compile. */
type Rules<Row> = { readonly [Member in keyof Required<Row>]: Rule }

const time: Rule = {
  be: 'integer milliseconds since the epoch',
  fits: (value) => Number.isSafeInteger(value) && (value as number) >= 0,
}
const identifier: Rule = {
  be: 'text of 1 to 255 ASCII characters',
  fits: (value) => typeof value === 'string' && /^[ -~]{1,255}$/.test(value),
}
const hash: Rule = {
  be: 'a Uint8Array of 32 bytes',
  fits: (value) => isUint8Array(value) && value.length === 32,
}
const hashes: Rule = listOf(hash, 'a list of Uint8Arrays of 32 bytes')
const scope: Rule = {
  be: 'names separated by single spaces, at most 1024 characters',
  fits: (value) => typeof value === 'string' && isScope(value),
}
const uri: Rule = textOf(2048)
const uris: Rule = listOf(uri, 'a list of texts of at most 2048 characters')
const kind: Rule = oneOf(credentialKinds)

function oneOf(words: readonly unknown[]): Rule {
  return { be: `one of ${words.join(', ')}`, fits: (value) => words.includes(value) }
}

/** Text of at most so many code points that every database can hold: without NUL and lone surrogates. */
function textOf(limit: number): Rule {
  return {
    be: `text of at most ${limit} characters, without NUL and lone surrogates`,
    fits: (value) =>
      typeof value === 'string' &&
      hasAtMostCodePoints(value, limit) &&
      value.isWellFormed() &&
      !value.includes('\0'),
  }
}

function listOf({ fits }: Rule, be: string): Rule {
  return { be, fits: (value) => Array.isArray(value) && value.every((each) => fits(each)) }
}

function orNull({ be, fits }: Rule): Rule {
  return { be: `null or ${be}`, fits: (value) => value === null || fits(value) }
}

function orAbsent({ be, fits }: Rule): Rule {
  return { be: `absent or ${be}`, fits: (value) => value === undefined || fits(value) }
}

const label = orAbsent(textOf(255))
const client: Rules<Client> = {
  clientId: identifier,
  secretHashes: hashes,
  redirectUris: uris,
  createdAt: time,
  revokedAt: orNull(time),
  name: label,
  clientType: orAbsent(oneOf(clientTypes)),
}
const clientPatch: Rules<ClientPatch> = { name: label, redirectUris: orAbsent(uris) }
const code: Rules<AuthorizationCode> = {
  clientId: identifier,
  subject: orNull(identifier),
  redirectUri: uri,
  scope,
  codeChallenge: orNull(textOf(128)),
  expiresAt: time,
  redeemedAt: orNull(time),
}
const reseller: Rules<Reseller> = { resellerId: identifier, createdAt: time, name: label }
const credential: Rules<Credential> = {
  id: identifier,
  ownerId: identifier,
  subject: orNull(identifier),
  scope,
  createdAt: time,
  expiresAt: orNull(time),
  revokedAt: orNull(time),
  name: label,
}
const text: Rule = { be: 'text', fits: (value) => typeof value === 'string' }
/** No more than the types: most licenses come from requests, whose fields are checked already. */
const license: Rules<NewLicense> = {
  licenseKey: text,
  registeredTo: text,
  domainOrIp: text,
  status: text,
  resellerId: text,
  createdAt: time,
  updatedAt: time,
  reference: orNull(identifier),
  expiresAt: orNull(time),
  comparedDomain: text,
}
const licenseChange: Rules<Compared<LicenseChange>> = {
  registeredTo: orAbsent(textOf(255)),
  domainOrIp: orAbsent(textOf(255)),
  status: orAbsent(textOf(255)),
  resellerId: orAbsent(identifier),
  reference: orAbsent(orNull(identifier)),
  expiresAt: orAbsent(orNull(time)),
  comparedDomain: orAbsent(textOf(255)),
}

/** Of the methods that a program of the host's may call itself. What the others write comes from the library. */
const checks: {
  readonly [Name in keyof AdminStorage]?: AdminStorage[Name] extends (...args: infer Args) => unknown
    ? (...args: Args) => string | null
    : never
} = {
  insertClient: (row) => problemOf(client, row),
  updateClient: (clientId, patch) =>
    problemOf({ clientId: identifier }, { clientId }) ?? problemOf(clientPatch, patch),
  rotateClientSecret: (clientId, newHash) =>
    problemOf({ clientId: identifier, newHash: hash }, { clientId, newHash }),
  revokeClient: (clientId, at) => problemOf({ clientId: identifier, at: time }, { clientId, at }),
  insertAuthorizationCode: (codeHash, row) =>
    problemOf({ codeHash: hash }, { codeHash }) ?? problemOf(code, row),
  insertReseller: (row) => problemOf(reseller, row),
  insertCredential: (ofKind, ofHash, row) =>
    problemOf({ kind, hash }, { kind: ofKind, hash: ofHash }) ?? problemOf(credential, row),
  revokeCredential: (which, at) =>
    problemOf(has(which, 'id') ? { id: identifier } : { hash }, which) ?? problemOf({ at: time }, { at }),
  revokeAccess: (which, at) => {
    const name = ['clientId', 'resellerId'].find((member) => has(which, member)) ?? 'subject'
    return problemOf<object>({ [name]: identifier }, which) ?? problemOf({ at: time }, { at })
  },
  insertLicense: (row) => problemOf(license, row),
  changeLicense: (licenseKey, change, at) =>
    problemOf({ licenseKey: text, at: time }, { licenseKey, at }) ??
    problemOf(licenseChange, change) ??
    problemOfForm(change),
  purgeExpired: (at) => problemOf({ at: time }, { at }),
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function has(value: unknown, member: string): boolean {
  return isObject(value) && member in value
}

function problemOf<Row extends object>(rules: Rules<Row>, row: Row): string | null {
  // In JavaScript, it may be null. Reading from that would throw outside the promise.
  if (!isObject(row)) return `${Object.keys(rules).join(', ')} must come in an object`
  for (const member in rules) {
    const { be, fits } = rules[member]
    if (!fits(row[member])) return `${member} must be ${be}`
  }
  return null
}

/** Without its compared form, a license would go on being listed by the domain that it had. */
function problemOfForm({ domainOrIp, comparedDomain }: Compared<LicenseChange>): string | null {
  if ((domainOrIp === undefined) === (comparedDomain === undefined)) return null
  return 'domainOrIp and comparedDomain must come together'
}
