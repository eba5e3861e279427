import { rejects } from 'node:assert/strict'
import type { AuthorizationCode, Client, Credential, NewAccessToken } from '../../domain/access.ts'
import type { License } from '../../domain/license.ts'
import {
  StorageError,
  type AdminStorage,
  type MaybePromise,
  type StorageErrorKind,
  type UtilityStorage,
} from '../../ports/storage.ts'

/** What a case works with; each but `storage` only where the fixture has it. */
export interface ContractContext {
  readonly storage: UtilityStorage
  readonly second: UtilityStorage | undefined
  readonly admin: AdminStorage | undefined
  readonly seed: AdminStorage | undefined
  readonly close: (() => MaybePromise<void>) | undefined
  readonly ping: (() => MaybePromise<void>) | undefined
  readonly disconnect: (() => MaybePromise<void>) | undefined
}

type Present<Context> = { readonly [Key in keyof Context]-?: NonNullable<Context[Key]> }

export interface ContractCase {
  readonly name: string
  readonly needs?: readonly (keyof ContractContext)[]
  run(context: Present<ContractContext>): Promise<void>
}

/** A hash with a 00 and an FF byte in it, which ends or breaks what takes it for text. */
export function hashOf(number: number): Uint8Array {
  const bytes = Uint8Array.from({ length: 32 }, (_, index) => [0x00, 0xff, 0x27, 0x80][index % 4] ?? 0)
  new DataView(bytes.buffer).setUint32(28, number)
  return bytes
}

export function makeClient(fields: Partial<Client> = {}): Client {
  return {
    clientId: 'client',
    secretHashes: [hashOf(1)],
    redirectUris: ['https://app.example/callback'],
    revokedAt: null,
    ...fields,
  }
}

export function makeCode(fields: Partial<AuthorizationCode> = {}): AuthorizationCode {
  return {
    clientId: 'client',
    redirectUri: 'https://app.example/callback',
    scope: 'dns:check',
    codeChallenge: null,
    expiresAt: 60_000,
    redeemedAt: null,
    ...fields,
  }
}

export function makeToken(number: number, fields: Partial<NewAccessToken> = {}): NewAccessToken {
  return {
    id: `token-${number}`,
    hash: hashOf(number),
    ownerId: 'client',
    scope: 'dns:check',
    expiresAt: 3_600_000,
    ...fields,
  }
}

export function makeCredential(id: string, fields: Partial<Credential> = {}): Credential {
  return { id, ownerId: 'reseller', scope: '', expiresAt: null, revokedAt: null, ...fields }
}

export function makeLicense(licenseKey: string, fields: Partial<License> = {}): License {
  return {
    licenseKey,
    registeredTo: 'Ada',
    domainOrIp: 'example.com',
    status: 'valid',
    resellerId: 'reseller',
    createdAt: 1000,
    updatedAt: 1000,
    ...fields,
  }
}

/** Calls all at once, as racing requests would. */
export function race<Result>(
  count: number,
  call: (index: number) => MaybePromise<Result>,
): Promise<Result[]> {
  return Promise.all(Array.from({ length: count }, async (_, index) => call(index)))
}

/** Calls one after the other. */
export async function inTurn<Item>(
  items: Iterable<Item>,
  call: (item: Item) => MaybePromise<unknown>,
): Promise<void> {
  // oxlint-disable-next-line no-await-in-loop -- one after the other is the point
  for (const item of items) await call(item)
}

export function countOf<Value>(values: readonly Value[], wanted: Value): number {
  return values.filter((value) => value === wanted).length
}

/** Expects a `StorageError` of this kind, thrown or rejected. */
export async function rejectsAs(
  kind: StorageErrorKind,
  call: () => MaybePromise<unknown>,
  message: string,
): Promise<void> {
  await rejects(
    async () => call(),
    (error: unknown) => error instanceof StorageError && error.kind === kind,
    `${message}: expected a StorageError of kind '${kind}'`,
  )
}
