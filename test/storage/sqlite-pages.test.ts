/** What a SQLite file's pages are spared. */
import { hash, randomUUID } from 'node:crypto'
import Database from 'better-sqlite3'
import { sqliteStorage } from 'utility-api/storage/sqlite'
import { expect, test } from 'vitest'
import { call } from './support/call.ts'

const codes = Array.from({ length: 500 }, () => hash('sha256', randomUUID(), 'buffer'))

test('spending codes moves none of them to another page', async () => {
  const database = new Database(':memory:')
  const storage = sqliteStorage(database)
  await storage.migrate()
  const pagesOfCodes = (): unknown =>
    database.prepare("SELECT count(*) AS pages FROM dbstat WHERE name = 'utility_api_codes'").get()
  const at = Date.now()
  const granted = { clientId: 'shop', subject: 'ada', redirectUri: 'https://shop.example/cb', scope: '' }
  const code = { ...granted, codeChallenge: null, expiresAt: at, redeemedAt: null }
  await Promise.all(codes.map((codeHash) => storage.insertAuthorizationCode(codeHash, code, call)))
  const before = pagesOfCodes()

  const owner = { ownerId: 'shop', subject: 'ada', scope: '', createdAt: at, expiresAt: at }
  const spent = await Promise.all(
    codes.map((codeHash) => {
      const token = { id: randomUUID(), hash: hash('sha256', codeHash, 'buffer'), ...owner }
      return storage.redeemAuthorizationCode(codeHash, at, token, call)
    }),
  )

  expect(spent).toEqual(codes.map(() => true))
  expect(pagesOfCodes()).toEqual(before)
})
