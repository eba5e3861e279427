/** What a SQLite file's pages are spared. */
import { hash, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test, vi } from 'vitest'
import { call } from './support/call.ts'
import { newLicense } from './support/license.ts'
import { newCode, newToken } from './support/rows.ts'
import { migrated } from './support/sqlite-files.ts'

const codes = Array.from({ length: 500 }, () => hash('sha256', randomUUID(), 'buffer'))

test('spending codes moves none of them to another page', async () => {
  const database = new Database(':memory:')
  const storage = await migrated(database)
  const pagesOfCodes = (): unknown =>
    database.prepare("SELECT count(*) AS pages FROM dbstat WHERE name = 'utility_api_codes'").get()
  const at = Date.now()
  const code = newCode('shop', { subject: 'ada', redirectUri: 'https://shop.example/cb', expiresAt: at })
  await Promise.all(codes.map((codeHash) => storage.insertAuthorizationCode(codeHash, code, call)))
  const before = pagesOfCodes()

  const owner = { ownerId: 'shop', subject: 'ada', createdAt: at, expiresAt: at }
  const spent = await Promise.all(
    codes.map((codeHash) => {
      const token = newToken(randomUUID(), hash('sha256', codeHash, 'buffer'), owner)
      return storage.redeemAuthorizationCode(codeHash, at, token, call)
    }),
  )

  expect(spent).toEqual(codes.map(() => true))
  expect(pagesOfCodes()).toEqual(before)
})

test('an update that repeats the domain writes one page, and none of an index', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'utility-api-pages-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'licenses.sqlite')
  const database = new Database(path)
  onTestFinished(() => void database.close())
  const storage = await migrated(database)
  const { domainOrIp, comparedDomain } = newLicense('a')
  await storage.insertLicense(newLicense('a'), undefined, call)
  const sizeOfLog = (): number => statSync(`${path}-wal`).size
  const before = sizeOfLog()
  const patch = { domainOrIp, comparedDomain, status: 'invalid' }
  await storage.updateLicense({ licenseKey: 'a', resellerId: 'r', patch, at: 5 }, call)
  const [frameHeader, page] = [24, 4096]
  expect(sizeOfLog() - before).toBe(frameHeader + page)
})

test.each([{ limit: 5 }, { limit: 5, endsBefore: 9 }])(
  'the list of %j leaves requests their turn',
  async (page) => {
    const storage = await migrated(new Database(':memory:'))
    const turn = vi.fn()
    setImmediate(turn)
    await storage.listing?.licenses(page, call)
    expect(turn).toHaveBeenCalled()
  },
)
