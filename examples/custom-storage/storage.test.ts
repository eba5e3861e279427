import { callWithin } from 'utility-api/storage'
import { appendFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { storageContract, type StorageFixture } from 'utility-api/testing'
import { expect, test } from 'vitest'
import { startExample } from '../../test/package/start-example.ts'
import { journalStorage } from './storage.ts'

async function makeFixture(): Promise<StorageFixture> {
  const directory = await mkdtemp(join(tmpdir(), 'journal-'))
  const storage = await journalStorage(join(directory, 'journal.jsonl'))
  return {
    storage,
    async close() {
      await storage.close?.()
      await rm(directory, { recursive: true })
    },
  }
}

for (const { name, run } of storageContract(makeFixture)) {
  test(name, async ({ skip }) => {
    // A store for one process has no second instance: those cases are skipped, not passed.
    if ((await run()) === 'not applicable') skip()
  })
}

test('after a restart all answered writes are there, and a line cut off by a crash is not', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'journal-'))
  const path = join(directory, 'journal.jsonl')
  const license = {
    licenseKey: 'LIC-1',
    registeredTo: 'Ada',
    domainOrIp: 'example.com',
    status: 'valid',
    resellerId: 'r',
    createdAt: 1,
    updatedAt: 1,
    reference: null,
    expiresAt: null,
  }
  const call = callWithin(Infinity)
  const before = await journalStorage(path)
  await before.insertLicense({ ...license, comparedDomain: 'a.example' }, undefined, call)
  await before.updateLicense(
    { licenseKey: 'LIC-1', resellerId: 'r', patch: { status: 'invalid' }, at: 2 },
    call,
  )
  await before.close?.()
  await appendFile(path, '[["licenses","LIC-2",{"licenseKey":"LI')
  const after = await journalStorage(path)
  expect((await after.listing?.licenses({ limit: 10 }, call))?.licenses).toEqual([
    { ...license, status: 'invalid', updatedAt: 2 },
  ])
  expect(
    await after.insertLicense(
      { ...license, licenseKey: 'LIC-2', comparedDomain: 'a.example' },
      undefined,
      call,
    ),
  ).toBe('inserted')
  await after.close?.()
  const again = await journalStorage(path)
  expect(await again.listing?.countLicenses({}, call)).toBe(2)
  await again.close?.()
  await rm(directory, { recursive: true })
})

test('the server serves from its journal, also after a restart', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'journal-'))
  const start = (): ReturnType<typeof startExample> =>
    startExample('custom-storage', { JOURNAL: join(directory, 'journal.jsonl') })
  const before = await start()
  await expect.poll(before.output).toContain('X-Status')
  const token = /Bearer (\S+)'/.exec(before.output())?.[1]
  const Authorization = `Bearer ${token}`
  const generated = await fetch(new URL('/v2/reseller/licenses/generate', before.url), {
    method: 'POST',
    headers: {
      Authorization,
      'X-Registered-To': 'Ada',
      'X-Domain-Or-IP': 'example.com',
      'X-Status': 'valid',
    },
  })
  expect(generated.status).toBe(200)
  const { data } = (await generated.json()) as { data: { license_key: string } }
  expect(await before.stop()).toBe(0)

  const after = await start()
  const updated = await fetch(new URL(`/v2/reseller/${data.license_key}/update`, after.url), {
    method: 'PUT',
    headers: { Authorization, 'X-Status': 'invalid' },
  })
  expect(updated.status).toBe(200)
  expect(await after.stop()).toBe(0)
  await rm(directory, { recursive: true })
})
