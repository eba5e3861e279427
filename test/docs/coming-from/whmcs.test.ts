import { createAdmin, createUtilityApi, type UtilityApi } from 'utility-api'
import * as storageParts from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'
import { expect, test } from 'vitest'
import { programOf, run } from './programs.ts'

test('licenses that WHMCS issued are found as they are, by key and by domain', async () => {
  const storage = memoryStorage()
  const admin = createAdmin({ storage })
  await admin.createReseller({ resellerId: 'shop' })
  const { move } = await run(
    programOf('whmcs', 'import { callWithin'),
    { 'utility-api/storage': storageParts },
    { storage },
  )
  const sold = { licenseKey: 'Owned-0f9a8b7c6d5e4f3a2b1c', customer: 'Ada', createdAt: 1_400_000_000_000 }
  const licenses = [{ ...sold, domain: 'München.example', status: 'suspended' }]
  await (move as unknown as (licenses: object[]) => Promise<void>)(licenses)

  const options: unknown[] = []
  await run(
    programOf('whmcs', 'import { createAdmin, createUtilityApi }'),
    { 'utility-api': { createUtilityApi: (each: unknown) => options.push(each), createAdmin: () => {} } },
    { storage },
  )
  const api: UtilityApi = createUtilityApi(options[0] as Parameters<typeof createUtilityApi>[0])
  const license = await api.findLicense(` ${sold.licenseKey} `)
  expect(license).toMatchObject({ registeredTo: 'Ada', status: 'suspended', createdAt: sold.createdAt })
  const found = await admin.listLicenses({ domainOrIp: 'xn--mnchen-3ya.example' })
  expect(found.licenses.map(({ licenseKey }) => licenseKey)).toEqual([sold.licenseKey])
  await api.close()
})
