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
  /** Returns the methods that are different, those of the lists among the others. */
  readonly change: (good: BoundAdmin, lists: BoundListing) => Partial<AdminStorage & StorageListing>
  /** Another instance on the same data. */
  readonly second?: boolean
}

function makeBroken({ change, second }: Mistake): StorageFixture {
  const good = memoryStorage()
  const lists = good.listing as StorageListing
  function broken(): AdminStorage {
    const { listing = lists, ...methods } = change(bindAdmin(good), bindListing(lists))
    return { ...good, ...methods, listing: { ...listing, ...methods } }
  }
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
