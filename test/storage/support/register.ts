import { describe, test } from 'vitest'
import { storageContract, type StorageFixture } from '../../../src/testing/storage-contract.ts'

const isAtLength = process.env['ALL_SETUPS'] !== undefined

/** Thousands of rows take as long as all the rest: they are for the long tests. */
export const isInTime = (name: string): boolean =>
  isAtLength || !/thousand|five hundred|among many/.test(name)

/** Registers the contract suite; a case that is not applicable shows as skipped, never as passed. */
export function testContract(
  label: string,
  make: () => StorageFixture | Promise<StorageFixture>,
  isWanted: (name: string) => boolean = () => true,
): void {
  describe(label, () => {
    for (const { name, run } of storageContract(make).filter((each) => isWanted(each.name))) {
      test(name, async ({ skip }) => {
        if ((await run()) === 'not applicable') skip('not applicable')
      })
    }
  })
}
