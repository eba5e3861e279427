// Run by Node's own test runner: `node --import ./test/support/sources.ts --test test/storage/support/contract.node.ts`.
import test from 'node:test'
import { DatabaseSync } from 'node:sqlite'
import { storageContract } from '../../../src/testing/storage-contract.ts'
import { openTwice } from './sqlite-fixture.ts'

for (const { name, run } of storageContract(() => openTwice((path) => new DatabaseSync(path)))) {
  void test(name, async (t) => {
    if ((await run()) === 'not applicable') t.skip()
  })
}
