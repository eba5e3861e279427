import {
  clientTypes,
  credentialKinds,
  type AuthorizationCode,
  type Credential,
  type CredentialKind,
} from '../../domain/credentials.ts'
import { comparedDomain } from '../../domain/compared-domain.ts'
import type { License } from '../../domain/license.ts'
import type { MaybePromise } from '../../domain/maybe-promise.ts'
import { StorageError, type AccessReference, type NewIdempotencyKey } from '../../ports/storage.ts'
import { show, type Asked, type Listed, type Model } from './model.ts'
import { identifiers, makeBurstPools, makePools, scopes, texts, uris, type Pools } from './pools.ts'
import type { Random } from './random.ts'

/** A call of a history: its text, what it asks a store or the model, and its steps if it has more than one. */
export interface Call {
  readonly text: string
  ask(store: Asked): MaybePromise<unknown>
  /** Steps that other calls may come between. Each is given the result of the one before. Default: only `ask`. */
  readonly steps?: readonly ((model: Model, before: unknown) => unknown)[]
}

/** Makes one random call. */
type Maker = (random: Random, pools: Pools) => Call

function name(random: Random): { name?: string } {
  return random.chance(50) ? {} : { name: random.pick(texts) }
}

/** Returns a code whose hash, client and subject are the same whenever it comes again. */
function makeCodeOf(
  random: Random,
  { codes, clientIds, subjects, times: at }: Pools,
): [Uint8Array, AuthorizationCode] {
  const index = random.integer(codes.length)
  const subject = index % 3 === 0 ? null : (subjects[index % subjects.length] ?? null)
  const code = {
    clientId: clientIds[index % clientIds.length] ?? '',
    subject,
    redirectUri: random.pick(uris),
    scope: random.pick(scopes),
    codeChallenge: random.chance(50) ? null : '-_'.repeat(21),
    expiresAt: random.pick(at),
    redeemedAt: random.chance(5) ? random.pick(at) : null,
  }
  return [codes[index] as Uint8Array, code]
}

function credentialOf(random: Random, pools: Pools): Credential {
  const { clientIds, resellerIds, subjects, times: at, credentialIds } = pools
  return {
    id: random.pick(credentialIds),
    ownerId: random.pick([...clientIds, ...resellerIds]),
    subject: random.chance(50) ? null : random.pick(subjects),
    scope: random.pick(scopes),
    createdAt: random.pick(at),
    expiresAt: random.chance(30) ? null : random.pick(at),
    revokedAt: random.chance(10) ? random.pick(at) : null,
    ...name(random),
  }
}

function licenseOf(random: Random, { licenseKeys: keys, resellerIds, times: at }: Pools): License {
  return {
    licenseKey: random.pick(keys),
    registeredTo: random.pick(texts),
    domainOrIp: random.pick(texts),
    status: random.pick(texts),
    resellerId: random.pick(resellerIds),
    createdAt: random.pick(at),
    updatedAt: random.pick(at),
    reference: referenceOf(random),
    expiresAt: random.chance(50) ? null : random.pick(at),
  }
}

/** Returns a patch with at least one field. */
function patchOf(random: Random): { registeredTo?: string; domainOrIp?: string; status?: string } {
  const fields = random.some(['registeredTo', 'domainOrIp', 'status'], 1 + random.integer(3))
  return Object.fromEntries(fields.map((field) => [field, random.pick(texts)]))
}

function referenceOf(random: Random): string | null {
  return random.chance(50) ? null : random.pick(identifiers)
}

function accessOf(random: Random, { clientIds, subjects, resellerIds }: Pools): AccessReference {
  if (random.chance(20)) return { resellerId: random.pick(resellerIds) }
  return random.chance(50) ? { clientId: random.pick(clientIds) } : { subject: random.pick(subjects) }
}

function call(method: string, args: readonly unknown[], ask: Call['ask'], steps?: Call['steps']): Call {
  return { text: `${method}(${args.map(show).join(', ')})`, ask, ...(steps && { steps }) }
}

const findClient: Maker = (random, { clientIds }) => {
  const id = random.pick(clientIds)
  return call('findClient', [id], (store) => store.findClient(id))
}

const findAuthorizationCode: Maker = (random, { codes }) => {
  const hash = random.pick(codes)
  return call('findAuthorizationCode', [hash], (store) => store.findAuthorizationCode(hash))
}

const redeemAuthorizationCode: Maker = (random, pools) => {
  const [codeHash, { clientId, subject }] = makeCodeOf(random, pools)
  const { id, scope, createdAt } = credentialOf(random, pools)
  const [hash, at, expiresAt] = [
    random.pick(pools.secrets),
    random.pick(pools.times),
    random.pick(pools.times),
  ]
  const token = { id, hash, ownerId: clientId, subject, scope, createdAt, expiresAt }
  return call('redeemAuthorizationCode', [codeHash, at, token], (store) =>
    store.redeemAuthorizationCode(codeHash, at, token),
  )
}

const revokeAccessTokensOfCode: Maker = (random, { codes, times: at }) => {
  const args = [random.pick(codes), random.pick(at)] as const
  return call('revokeAccessTokensOfCode', args, (store) => store.revokeAccessTokensOfCode(...args))
}

const findCredential: Maker = (random, { secrets, kinds: of }) => {
  const args = [random.pick(of), random.pick(secrets)] as const
  return call('findCredential', args, (store) => store.findCredential(...args))
}

const insertLicense: Maker = (random, pools) => {
  const license = licenseOf(random, pools)
  if (pools.idempotencyKeys.length === 0 || random.chance(40))
    return call('insertLicense', [license], (store) => store.insertLicense(license))
  const key: NewIdempotencyKey = {
    resellerId: random.pick(pools.resellerIds),
    keyHash: random.pick(pools.idempotencyKeys),
    requestHash: random.pick(pools.secrets),
    at: random.pick(pools.times),
    expiresAt: random.chance(20) ? null : random.pick(pools.times),
  }
  return call('insertLicense', [license, key], (store) => store.insertLicense(license, key))
}

const updateLicense: Maker = (random, { licenseKeys: keys, resellerIds, times: at }) => {
  const patch = patchOf(random)
  const update = {
    licenseKey: random.pick(keys),
    resellerId: random.pick(resellerIds),
    patch,
    at: random.pick(at),
  }
  return call('updateLicense', [update], (store) => store.updateLicense(update))
}

const findLicense: Maker = (random, { licenseKeys: keys }) => {
  const key = random.pick(keys)
  return call('findLicense', [key], (store) => store.findLicense(key))
}

const insertClient: Maker = (random, { clientIds, secrets, times: at }) => {
  const client = {
    clientId: random.pick(clientIds),
    secretHashes: random.some(secrets, random.integer(3)),
    redirectUris: random.some(uris, random.integer(3)),
    createdAt: random.pick(at),
    revokedAt: random.chance(10) ? random.pick(at) : null,
    ...name(random),
    ...(random.chance(30) && { clientType: random.pick(clientTypes) }),
  }
  return call('insertClient', [client], (store) => store.insertClient(client))
}

const updateClient: Maker = (random, { clientIds }) => {
  const patch = {
    ...name(random),
    ...(random.chance(50) && { redirectUris: random.some(uris, random.integer(3)) }),
  }
  const id = random.pick(clientIds)
  return call('updateClient', [id, patch], (store) => store.updateClient(id, patch))
}

const rotateClientSecret: Maker = (random, { clientIds, secrets }) => {
  const args = [random.pick(clientIds), random.pick(secrets)] as const
  return call('rotateClientSecret', args, (store) => store.rotateClientSecret(...args))
}

const revokeClient: Maker = (random, { clientIds, times: at }) => {
  const [clientId, time] = [random.pick(clientIds), random.pick(at)]
  return call('revokeClient', [clientId, time], (store) => store.revokeClient(clientId, time), [
    (model) => model.closeClient(clientId, time),
    (model, revoked) => {
      model.endCodes({ clientId })
      return revoked
    },
  ])
}

const insertAuthorizationCode: Maker = (random, pools) => {
  const args = makeCodeOf(random, pools)
  return call('insertAuthorizationCode', args, (store) => store.insertAuthorizationCode(...args))
}

const insertReseller: Maker = (random, { resellerIds, times: at }) => {
  const reseller = { resellerId: random.pick(resellerIds), createdAt: random.pick(at), ...name(random) }
  return call('insertReseller', [reseller], (store) => store.insertReseller(reseller))
}

const findReseller: Maker = (random, { resellerIds }) => {
  const id = random.pick(resellerIds)
  return call('findReseller', [id], (store) => store.findReseller(id))
}

const insertCredential: Maker = (random, pools) => {
  const args = [random.pick(pools.kinds), random.pick(pools.secrets), credentialOf(random, pools)] as const
  return call('insertCredential', args, (store) => store.insertCredential(...args))
}

const revokeCredential: Maker = (random, { secrets, credentialIds, times: at }) => {
  const which = random.chance(50) ? { hash: random.pick(secrets) } : { id: random.pick(credentialIds) }
  const time = random.pick(at)
  return call('revokeCredential', [which, time], (store) => store.revokeCredential(which, time))
}

const revokeAccess: Maker = (random, pools) => {
  const [which, at] = [accessOf(random, pools), random.pick(pools.times)]
  return call('revokeAccess', [which, at], (store) => store.revokeAccess(which, at), [
    (model) => model.endCodes(which),
    (model, codes) => ({ codes, tokens: model.revokeTokens(which, at) }),
  ])
}

const changeLicense: Maker = (random, { licenseKeys: keys, resellerIds, times: at }) => {
  const change = {
    ...patchOf(random),
    ...(random.chance(30) && { resellerId: random.pick(resellerIds) }),
    ...(random.chance(30) && { reference: referenceOf(random) }),
    ...(random.chance(30) && { expiresAt: random.chance(50) ? null : random.pick(at) }),
  }
  const args = [random.pick(keys), change, random.pick(at)] as const
  return call('changeLicense', args, (store) => store.changeLicense(...args))
}

const deleteLicense: Maker = (random, { licenseKeys: keys }) => {
  const key = random.pick(keys)
  return call('deleteLicense', [key], (store) => store.deleteLicense(key))
}

const purgeExpired: Maker = (random, { times: at }) => {
  // Rarely the last times, because little is left after those.
  const time = random.chance(90) ? Math.min(random.pick(at), 1001) : random.pick(at)
  return call('purgeExpired', [time], (store) => store.purgeExpired(time))
}

const list: Maker = (random) => {
  const what: Listed = random.pick(['clients', 'resellers', 'licenses', ...credentialKinds])
  const limit = 1 + random.integer(5)
  return call('list', [what, limit], (store) => store.list(what, limit))
}

const listLicenses: Maker = (random, { resellerIds }) => {
  const forms = new Set(random.some(texts, 1 + random.integer(4)).map(comparedDomain))
  const filters = {
    ...(random.chance(70) && { comparedDomains: [...forms] }),
    ...(random.chance(30) && { resellerId: random.pick(resellerIds) }),
    ...(random.chance(30) && { status: random.pick(texts) }),
    ...(random.chance(30) && { reference: random.pick(identifiers) }),
  }
  const limit = 1 + random.integer(5)
  return call('listLicenses', [filters, limit], (store) => store.listLicenses(filters, limit))
}

const noteUse: Maker = (random, { credentialIds, times: at }) => {
  const args = [
    random.pick(['reseller_token', 'api_key'] as const),
    random.some(credentialIds, 1 + random.integer(4)),
    random.pick(at),
  ] as const
  return call('recordUse', args, (store) => store.noteUse(...args))
}

/** Returns each maker as many times as its weight says. */
function weighted(weights: readonly (readonly [number, Maker])[]): readonly Maker[] {
  return weights.flatMap(([weight, maker]) => Array.from({ length: weight }, () => maker))
}

const serving = weighted([
  [2, findClient],
  [3, findAuthorizationCode],
  [6, redeemAuthorizationCode],
  [3, revokeAccessTokensOfCode],
  [4, findCredential],
  [8, insertLicense],
  [6, updateLicense],
  [3, findLicense],
  [2, insertClient],
  [2, updateClient],
  [3, rotateClientSecret],
  [6, insertAuthorizationCode],
  [2, insertReseller],
  [1, findReseller],
  [6, insertCredential],
  [3, revokeCredential],
  [3, changeLicense],
  [2, deleteLicense],
])
const seldom = [revokeClient, revokeAccess, purgeExpired]

/** Returns random calls. One in ten repeats the one before it. */
export function makeCalls(
  random: Random,
  count: number,
  { lists, uses }: { readonly lists: boolean; readonly uses: boolean },
): Call[] {
  const pools = makePools(random)
  const calls: Call[] = []
  for (let index = 0; index < count; index += 1) {
    const last = calls.at(-1)
    if (last !== undefined && random.chance(10)) calls.push(last)
    else if (lists && random.chance(4)) calls.push(random.pick([list, listLicenses])(random, pools))
    else if (uses && random.chance(4)) calls.push(noteUse(random, pools))
    else calls.push(random.pick(random.chance(3) ? seldom : serving)(random, pools))
  }
  return calls
}

/** Calls that set up a few rows, calls on only these rows at once, and calls that read them all. */
export interface Burst {
  readonly before: readonly Call[]
  readonly burst: readonly Call[]
  readonly reads: readonly Call[]
}

/** Inserts a license under a key of its own, so that only its idempotency key decides. */
function insertOnce(random: Random, pools: Pools, licenseKey: string): Call {
  const license = { ...licenseOf(random, pools), licenseKey, createdAt: 1000 }
  const at = random.pick([500, 1500])
  const key: NewIdempotencyKey = {
    resellerId: pools.resellerIds[0] ?? '',
    keyHash: pools.idempotencyKeys[0] as Uint8Array,
    requestHash: random.pick(pools.secrets),
    at,
    expiresAt: at + 500,
  }
  return call('insertLicense', [license, key], (store) => store.insertLicense(license, key))
}

const together = weighted([
  [5, redeemAuthorizationCode],
  [2, revokeAccessTokensOfCode],
  [1, findCredential],
  [3, insertLicense],
  [5, updateLicense],
  [2, findLicense],
  [1, insertClient],
  [1, updateClient],
  [4, rotateClientSecret],
  [1, insertReseller],
  [3, insertCredential],
  [2, revokeCredential],
  [3, changeLicense],
  [3, deleteLicense],
])

export function makeBurst(random: Random, size: number): Burst {
  const pools = makeBurstPools(random)
  // Idempotency keys come with licenses of their own.
  const plain = { ...pools, idempotencyKeys: [] }
  const ownKeys: string[] = []
  const withKey = (): Call => {
    ownKeys.push(`${pools.licenseKeys[0]}-${ownKeys.length}`)
    return insertOnce(random, pools, ownKeys.at(-1) ?? '')
  }
  const setUp = (): Call[] => [
    ...makersOf(random, [insertClient, insertReseller, insertCredential, insertLicense, insertLicense]).map(
      (maker) => maker(random, plain),
    ),
    ...pools.codes.slice(1).map((hash) => insertAuthorizationCode(random, { ...plain, codes: [hash] })),
    ...(random.chance(50) ? [withKey()] : []),
  ]
  const before = setUp()
  // Only one of those that touch many rows, because two may share the rows between them.
  const special = random.chance(40) ? [random.pick([revokeClient, revokeAccess])(random, plain)] : []
  const newCode = random.chance(50)
    ? [insertAuthorizationCode(random, { ...plain, codes: pools.codes.slice(0, 1) })]
    : []
  const focus = random.some(together, 3)
  const others = Array.from({ length: Math.max(1, size - special.length - newCode.length) }, () =>
    random.chance(15) ? withKey() : random.pick(focus)(random, plain),
  )
  return { before, burst: [...special, ...newCode, ...others], reads: readAll(pools, ownKeys) }
}

/** Returns most of the makers, so that rows are sometimes missing. */
function makersOf(random: Random, makers: readonly Maker[]): Maker[] {
  return makers.filter(() => random.chance(80))
}

function readAll(pools: Pools, ownKeys: readonly string[]): Call[] {
  const { clientIds, codes, secrets, kinds: of, licenseKeys: keys } = pools
  return [
    ...clientIds.map((id) => call('findClient', [id], (store) => store.findClient(id))),
    ...codes.map((hash) =>
      call('findAuthorizationCode', [hash], (store) => store.findAuthorizationCode(hash)),
    ),
    ...secrets.flatMap((hash) =>
      [...new Set<CredentialKind>([...of, 'access_token'])].map((kind) =>
        call('findCredential', [kind, hash], (store) => store.findCredential(kind, hash)),
      ),
    ),
    ...[...keys, ...ownKeys].map((key) => call('findLicense', [key], (store) => store.findLicense(key))),
  ]
}

/** Returns a store's answer as text. A refusal is an answer too. */
export async function answerOf(ask: () => unknown): Promise<string> {
  try {
    return show(await ask())
  } catch (error) {
    if (error instanceof StorageError) return `StorageError '${error.kind}'`
    return `an error that is no StorageError: ${String(error)}`
  }
}

/** The longest text of a call in a message. */
const maxText = 400

/** Shortens text for a message: counts repeated characters, and cuts what is still too long. */
export function clip(text: string): string {
  const brief = text.replaceAll(
    /(.)\1{19,}/gu,
    (run, character: string) => `${character}{${[...run].length}}`,
  )
  return brief.length <= maxText ? brief : `${brief.slice(0, maxText)}… (${brief.length} characters)`
}
