import type { AdminStorage, StorageListing } from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'
import { expect, test } from 'vitest'
import {
  bindAdmin,
  bindListing,
  type BoundAdmin,
  type BoundListing,
} from '../../../src/testing/contract/bound.ts'
import { storageContract, type StorageFixture } from '../../../src/testing/storage-contract.ts'

/** A mistake that adapters are really made with, and the beginning of the name of the case that must catch it. */
export interface Mistake {
  readonly what: string
  readonly caughtBy: string
  readonly change: (good: BoundAdmin, lists: BoundListing) => Partial<AdminStorage>
  /** Another instance on the same data. */
  readonly second?: boolean
}

function makeBroken({ change, second }: Mistake): StorageFixture {
  const good = memoryStorage()
  const broken = (): AdminStorage => ({
    ...good,
    ...change(bindAdmin(good), bindListing(good.listing as StorageListing)),
  })
  return { storage: broken(), close() {}, ...(second ? { second: broken() } : {}) }
}

/** Tests that each mistake is caught by the case meant for it. */
export function testMistakes(mistakes: readonly Mistake[]): void {
  test.each(mistakes)('an adapter that $what is caught', async (mistake) => {
    const [named, ...others] = storageContract(() => makeBroken(mistake)).filter(({ name }) =>
      name.startsWith(mistake.caughtBy),
    )
    expect(others).toHaveLength(0)
    await expect(named?.run()).rejects.toThrow()
  })
}
