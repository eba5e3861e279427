import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { storageContract, type StorageFixture } from 'utility-api/testing'
import { expect, test } from 'vitest'
import { isInTime } from '../storage/support/register.ts'
import { removeFolder } from '../support/remove-folder.ts'
import { journalStorage } from './custom-storage-1.0/storage.ts'

// An adapter as somebody wrote it for 1.0. It compiles, and passes what 1.0 demanded, with every later 1.x.

async function makeFixture(): Promise<StorageFixture> {
  const directory = mkdtempSync(join(tmpdir(), 'journal-1.0-'))
  const storage = await journalStorage(join(directory, 'journal.jsonl'))
  return {
    storage,
    async close() {
      await storage.close?.()
      removeFolder(directory)
    },
  }
}

const cases = storageContract(makeFixture)

for (const { name, run } of cases.filter((each) => each.since === '1.0' && isInTime(each.name)))
  test(name, async ({ skip }) => {
    if ((await run()) === 'not applicable') skip()
  })

test('the adapter is the one of 1.0: what no longer fits it is wrong, not the adapter', () => {
  const folder = join(import.meta.dirname, 'custom-storage-1.0')
  const hash = createHash('sha256')
  for (const file of readdirSync(folder).toSorted()) hash.update(readFileSync(join(folder, file)))
  expect(hash.digest('hex')).toBe('5de0bc231eddb681c8c9cd35d9f7eb7778b63639430641f135aed536b29806d7')
})

test('the cases of 1.0 are those of 1.0: a new one says its own version', () => {
  const names = cases.filter(({ since }) => since === '1.0').map(({ name }) => name)
  const listed = readFileSync(join(import.meta.dirname, 'cases-1.0.txt'), 'utf8')
    .trimEnd()
    .split('\n')
  expect(names).toEqual(listed)
  expect(cases.every(({ since }) => /^\d+\.\d+$/.test(since))).toBe(true)
})
