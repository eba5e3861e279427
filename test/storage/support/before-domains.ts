import type { AdminStorage } from 'utility-api/storage'
import { expect } from 'vitest'
import { call } from './call.ts'

/** The schema before compared domains and last uses, made of the one after. One statement each. */
export const takeBack: Readonly<Record<'sqlite' | 'postgres' | 'mysql', readonly string[]>> = {
  sqlite: [
    'DROP INDEX utility_api_licenses_domain',
    'ALTER TABLE utility_api_licenses DROP COLUMN compared_of',
    'ALTER TABLE utility_api_licenses DROP COLUMN compared_domain',
    'ALTER TABLE utility_api_credentials DROP COLUMN last_used_on',
    'UPDATE utility_api_schema SET step = 2',
  ],
  postgres: [
    'DROP INDEX utility_api_licenses_domain',
    'ALTER TABLE utility_api_licenses DROP COLUMN compared_of, DROP COLUMN compared_domain',
    'ALTER TABLE utility_api_credentials DROP COLUMN last_used_on',
    'UPDATE utility_api_schema SET step = 2',
  ],
  mysql: [
    'ALTER TABLE utility_api_licenses DROP KEY current_domain',
    'ALTER TABLE utility_api_licenses DROP COLUMN current_domain',
    'ALTER TABLE utility_api_licenses DROP COLUMN compared_of',
    'ALTER TABLE utility_api_licenses DROP COLUMN compared_domain',
    'ALTER TABLE utility_api_credentials DROP COLUMN last_used_on',
    'UPDATE utility_api_schema SET step = 1',
  ],
}

type Store = AdminStorage & { migrate(): Promise<void> }

/** Runs a statement of a server of before. */
type RunOld = (sql: string) => unknown

/** More than any store changes at once. */
const count = 1300

function insertOld(index: number, domain: string): string {
  return `INSERT INTO utility_api_licenses
    (license_key, registered_to, domain_or_ip, status, reseller_id, created_at, updated_at)
    VALUES ('OLD-${index}', 'Ada', '${domain}', 'valid', 'r', ${index}, ${index})`
}

function moveOld(index: number, domain: string): string {
  return `UPDATE utility_api_licenses SET domain_or_ip = coalesce('${domain}', domain_or_ip), updated_at = 5
    WHERE license_key = 'OLD-${index}' AND reseller_id = 'r'`
}

async function found(storage: Store, comparedDomain: string): Promise<string[]> {
  const page = await storage.listing?.licenses({ comparedDomains: [comparedDomain], limit: 1000 }, call)
  return page?.licenses.map(({ licenseKey }) => licenseKey) ?? []
}

/**
 * Migrates a schema of before while a server of before inserts licenses and changes their domains. Afterwards each is
 * found by the domain it has, and by no other, whoever changed it last.
 */
export async function verifyDomainsMigrated(storage: Store, old: RunOld): Promise<void> {
  for (let index = 0; index < count; index += 1)
    // oxlint-disable-next-line no-await-in-loop -- on one connection
    await old(insertOld(index, index % 2 === 0 ? `Shop-${index}.example.` : `m\u00fcnchen-${index}.example`))
  const state = { migrating: true }
  const migrated = storage.migrate().finally(() => (state.migrating = false))
  let moved = 0
  while (state.migrating || moved < 20) {
    // oxlint-disable-next-line no-await-in-loop -- while the other side migrates
    await old(moveOld(moved % count, `MOVED-${moved}.example`))
    moved += 1
    // oxlint-disable-next-line no-await-in-loop -- as above
    await new Promise((resolve) => setImmediate(resolve))
  }
  await migrated
  await old(insertOld(count, 'New.example'))
  await old(moveOld(count - 1, 'Last.example'))
  const { licenses = [] } = (await storage.listing?.licenses({ limit: 2000 }, call)) ?? {}
  expect(licenses).toHaveLength(count + 1)
  const last = new Map(Array.from({ length: moved }, (_, index) => [index % count, index]))
  const [some = 0] = last.keys()
  expect(await found(storage, `moved-${last.get(some)}.example`)).toEqual([`OLD-${some}`])
  expect(await found(storage, `shop-${some}.example`)).toEqual([])
  expect(await found(storage, 'new.example')).toEqual([`OLD-${count}`])
  expect(await found(storage, 'last.example')).toEqual([`OLD-${count - 1}`])
  const untouched = Math.min(moved, count - 3)
  const form = new URL(`http://${untouched % 2 === 0 ? 'shop' : 'm\u00fcnchen'}-${untouched}.example`)
    .hostname
  expect(await found(storage, form)).toEqual(moved > untouched ? [] : [`OLD-${untouched}`])
  // A server of before takes a license to another domain, and one of now takes it further.
  await old(moveOld(0, 'Old-server.example'))
  const update = { licenseKey: 'OLD-0', resellerId: 'r', at: 9 }
  const patch = { domainOrIp: 'New-server.example', comparedDomain: 'new-server.example' }
  expect(await storage.updateLicense({ ...update, patch }, call)).toBe('updated')
  expect(await found(storage, 'old-server.example')).toEqual([])
  expect(await found(storage, 'new-server.example')).toEqual(['OLD-0'])
  await old(moveOld(0, 'Old-server.example'))
  expect(await found(storage, 'old-server.example')).toEqual(['OLD-0'])
  expect(await found(storage, 'new-server.example')).toEqual([])
  // Migrating again leaves nothing outdated and changes nothing else.
  await old(moveOld(1, 'Again.example'))
  await storage.migrate()
  expect(await found(storage, 'again.example')).toEqual(['OLD-1'])
  expect(await storage.findLicense('OLD-1', call)).toMatchObject({
    domainOrIp: 'Again.example',
    updatedAt: 5,
  })
}
