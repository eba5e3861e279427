import type { AdminStorage, StorageListing } from 'utility-api/storage'
import { expect } from 'vitest'
import { call } from './call.ts'
import { errorOf } from './error-of.ts'
import { newLicense } from './license.ts'
import { hashOfByte } from './version-1.ts'

type Migrated = AdminStorage & { readonly listing?: StorageListing; migrate(): Promise<void> }

/** Everything of version 1 is readable after the migration, and new columns say that they do not know. */
export async function verifyUpgraded(storage: Migrated): Promise<void> {
  expect(await storage.findClient('shop', call)).toMatchObject({
    name: 'Shop',
    createdAt: 0,
    revokedAt: null,
  })
  expect(await storage.findAuthorizationCode(hashOfByte(2), call)).toMatchObject({
    subject: null,
    redeemedAt: 5,
  })
  expect(await storage.findCredential('access_token', hashOfByte(3), call)).toStrictEqual({
    id: 't-1',
    ownerId: 'shop',
    subject: null,
    scope: 'a',
    createdAt: 0,
    expiresAt: 9000,
    revokedAt: null,
  })
  expect(await storage.findCredential('reseller_token', hashOfByte(6), call)).toMatchObject({ revokedAt: 7 })
  expect(await storage.findCredential('api_key', hashOfByte(8), call)).toMatchObject({ name: 'Page' })
  expect(await storage.findLicense('LIC-2', call)).toMatchObject({ registeredTo: 'Bob', createdAt: 300 })
  const idempotency = {
    resellerId: 'hosting',
    keyHash: hashOfByte(9),
    requestHash: hashOfByte(1),
    expiresAt: 9,
  }
  const again = await storage.insertLicense(newLicense('new', { resellerId: 'hosting' }), idempotency, call)
  expect(again).toMatchObject({ replay: { licenseKey: 'LIC-1' } })
  const resellers = await storage.listing?.resellers({ limit: 10 }, call)
  expect(resellers?.resellers).toStrictEqual([
    { resellerId: 'newcomer', createdAt: 0 },
    { resellerId: 'hosting', createdAt: 100, name: 'Hosting' },
    { resellerId: 'departed', createdAt: 300 },
  ])
}

/** What an old process has written since is there too, and its resellers are adopted by the next migration. */
export async function verifyOldWrites(storage: Migrated): Promise<void> {
  expect(await storage.redeemAuthorizationCode(hashOfByte(4), 9, tokenOf(20), call)).toBe(false)
  expect(await storage.revokeAccessTokensOfCode(hashOfByte(4), 9, call)).toBe(1)
  expect(await storage.revokeAccess({ clientId: 'late' }, 9, call)).toStrictEqual({ tokens: 0, codes: 1 })
  expect(await storage.revokeAccess({ clientId: 'shop' }, 9, call)).toStrictEqual({ tokens: 1, codes: 0 })
  expect((await storage.findClient('late', call))?.secretHashes.map((each) => each[0])).toStrictEqual([13])
  expect(await storage.findLicense('LIC-4', call)).toMatchObject({ updatedAt: 600 })
  await storage.migrate()
  const resellers = await storage.listing?.resellers({ limit: 10 }, call)
  expect(resellers?.resellers[0]).toStrictEqual({ resellerId: 'late-reseller', createdAt: 0, name: 'Late' })
  const clients = await storage.listing?.clients({ limit: 10 }, call)
  expect(clients?.clients.map(({ clientId }) => clientId)).toStrictEqual(['late', 'shop'])
}

function tokenOf(byte: number): Parameters<AdminStorage['redeemAuthorizationCode']>[2] {
  const hash = hashOfByte(byte)
  return { id: `${byte}`, hash, ownerId: 'shop', subject: null, scope: '', createdAt: 9, expiresAt: 9000 }
}

/** A store whose schema says version 99 is refused, before anything is read or written. */
export async function verifyTooNew(storage: Migrated): Promise<void> {
  const calls = [
    () => storage.migrate(),
    () => storage.findClient('a', call),
    () => storage.insertLicense(newLicense('a'), undefined, call),
  ]
  const errors = await Promise.all(calls.map(errorOf))
  expect(
    errors.map(({ kind, message }) => [kind, /version 99.*Update utility-api, or restore/.test(message)]),
  ).toEqual(calls.map(() => ['invalid', true]))
}
