// Run by Bun's own test runner: `bun test ./test/storage/support/contract.bun.ts`.
import { strictEqual } from 'node:assert/strict'
import { memoryStorage } from 'utility-api/storage/memory'
import { storageContract } from '../../../src/testing/storage-contract.ts'
import { openTwice, type ClosableDatabase } from './sqlite-fixture.ts'

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

for (const { name, run } of storageContract(() => ({ storage: memoryStorage(), close() {} }))) {
  test(`memory: ${name}`, async () => void (await run()))
}
