import { expect, test } from 'vitest'
import { storageContract, type StorageFixture } from '../../src/testing/storage-contract.ts'
import { ownStorage, schemaOf } from './support/own-adapter.ts'
import { startServer } from './support/own-server.ts'
import { isInTime, testContract } from './support/register.ts'

const makeFixture = (): StorageFixture => {
  const server = startServer(schemaOf())
  return { storage: ownStorage(server), second: ownStorage(server), disconnect: server.end, close() {} }
}
testContract('an adapter of our own', makeFixture, isInTime)

const behindProxy = (): StorageFixture => {
  const server = startServer(schemaOf())
  return {
    storage: ownStorage(server),
    seed: ownStorage(server.direct()),
    cutAfter: server.cutAfter,
    close() {},
  }
}
for (const { name, run } of storageContract(behindProxy).filter((each) => /\bcut\b/.test(each.name)))
  test(`behind a proxy that cuts connections: ${name}`, async () => expect(await run()).toBe('passed'))
