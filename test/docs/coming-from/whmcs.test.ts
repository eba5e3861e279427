import { createAdmin, createUtilityApi } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { expect, onTestFinished, test, vi } from 'vitest'
import { programOf as licenseProgramOf, run as runLicenses } from '../guide-server.ts'
import { programOf, run } from './programs.ts'

test('licenses that WHMCS issued are found as they are, or named as refused', async () => {
  const storage = memoryStorage()
  const made: Parameters<typeof createUtilityApi>[0][] = []
  await run(
    programOf('whmcs', 'import { createAdmin, createUtilityApi }'),
    {
      'utility-api': { createUtilityApi: (each: (typeof made)[0]) => made.push(each), createAdmin: () => {} },
    },
    { storage },
  )
  const [options = { storage }] = made
  const admin = createAdmin({ storage, ...(options.licenses && { licenses: options.licenses }) })
  await admin.createReseller({ resellerId: 'shop' })
  const sold = {
    resellerId: 'shop',
    registeredTo: 'Ada',
    domainOrIp: 'München.example',
    status: 'suspended',
    reference: 'whmcs-1',
    createdAt: new Date(1_400_000_000_000),
  }
  const rows = [
    { ...sold, licenseKey: 'Owned-0f9a8b7c6d5e4f3a2b1c' },
    { ...sold, licenseKey: 'two', domainOrIp: 'shop.example,www.shop.example' },
    { ...sold, licenseKey: 'none', domainOrIp: '' },
    { ...sold, licenseKey: 'url', domainOrIp: 'https://shop.example/' },
    { ...sold, licenseKey: 'active', status: 'Active' },
    { ...sold, licenseKey: 'SHOP-AAAAA-BBBBB-CCCCC-DDDDD-EEEEE' },
  ].map((row, at) => ({ ...row, reference: `whmcs-${at}` }))
  const print = vi.spyOn(console, 'log').mockImplementation(() => {})
  onTestFinished(() => print.mockRestore())
  const move = licenseProgramOf('licenses', 'import type { NewAdminLicense }')
  await runLicenses(`${move}\nawait move(rows)`, { admin, rows })

  expect(print.mock.calls.flat().map((line) => String(line).replace(/(: \w+)[^]*/, '$1'))).toEqual([
    'two (whmcs-1) did not move: domainOrIp',
    'none (whmcs-2) did not move: domainOrIp',
    'url (whmcs-3) did not move: domainOrIp',
    'active (whmcs-4) did not move: status',
    'SHOP-AAAAA-BBBBB-CCCCC-DDDDD-EEEEE (whmcs-5) did not move: licenseKey',
  ])
  await using api = createUtilityApi(options)
  const license = await api.findLicense(` ${rows[0]?.licenseKey} `)
  expect(license).toMatchObject({ registeredTo: 'Ada', status: 'suspended', createdAt: 1_400_000_000_000 })
  const found = await admin.listLicenses({ domainOrIp: 'xn--mnchen-3ya.example' })
  expect(found.licenses).toEqual([license])
})
