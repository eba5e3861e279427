// Run by Bun's own test runner: `bun test ./test/storage/support/contract.bun.ts`.
import { rejects, strictEqual } from 'node:assert/strict'
import { copyFileSync, renameSync, rmSync } from 'node:fs'
import { memoryStorage } from 'utility-api/storage/memory'
import { sqliteStorage } from 'utility-api/storage/sqlite'
import { storageContract } from '../../../src/testing/storage-contract.ts'
import { call } from './call.ts'
import { newLicense } from './license.ts'
import { openTwice, temporaryFile, type ClosableDatabase } from './sqlite-fixture.ts'

// The types of Bun's modules would replace those of Node.js for the whole project.
const bunTest: string = 'bun:test'
const bunSqlite: string = 'bun:sqlite'
const { test } = (await import(bunTest)) as { test: (name: string, run: () => Promise<void>) => void }
const { Database } = (await import(bunSqlite)) as { Database: new (path: string) => ClosableDatabase }

for (const { name, run } of storageContract(() => openTwice((path) => new Database(path)))) {
  // Nothing cuts the connection to a file.
  const wanted = /\bcut\b/.test(name) ? 'not applicable' : 'passed'
  test(`bun:sqlite: ${name}`, async () => strictEqual(await run(), wanted))
}

const losses: Readonly<Record<string, (path: string) => void>> = {
  'the file deleted': (path) => rmSync(path),
  'the file replaced': (path) => {
    copyFileSync(path, `${path}-copy`)
    renameSync(`${path}-copy`, path)
  },
  'the log deleted': (path) => rmSync(`${path}-wal`),
}
for (const [name, lose] of Object.entries(losses)) {
  test(`bun:sqlite: ${name}: nothing more is acknowledged`, async () => {
    const { path, remove } = temporaryFile()
    const database = new Database(path)
    const storage = sqliteStorage(database)
    await storage.migrate()
    strictEqual(await storage.insertLicense(newLicense('a'), undefined, call), 'inserted')
    await storage.ping?.(call)
    lose(path)
    const lost = { kind: 'unavailable', retryable: false, message: /while it was open/ }
    await rejects(async () => storage.insertLicense(newLicense('b'), undefined, call), lost)
    await rejects(async () => storage.ping?.(call), lost)
    database.close()
    remove()
  })
}

for (const { name, run } of storageContract(() => ({ storage: memoryStorage(), close() {} }))) {
  test(`memory: ${name}`, async () => void (await run()))
}
