import {
  StorageError,
  type AdminStorage,
  type License,
  type MaybePromise,
  type StorageListing,
} from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'
import { describe, expect, test } from 'vitest'
import { storageContract, type StorageFixture } from '../../src/testing/storage-contract.ts'

// Adapters that keep what they list beside the row, each in a command of its own, and a connection that is cut between.

/** The rows, and what is kept beside them. */
interface Data {
  readonly good: AdminStorage & { readonly listing: StorageListing }
  readonly beside: Map<string, License>
}

/** Sends a command; its reply may be lost. */
type Send = <Answer>(command: () => MaybePromise<Answer>) => Promise<Answer>

interface Planted {
  readonly what: string
  readonly says: string
  /** What it lists or counts from the rows kept beside. */
  readonly listing: (data: Data, send: Send) => Partial<StorageListing>
}

const planted: readonly Planted[] = [
  {
    what: 'finds licenses of a domain in an index that is written by its own command',
    says: 'a domain has what is found by its key',
    listing: ({ good, beside }, send) => ({
      async licenses(page, call) {
        const { comparedDomains, ...rest } = page
        if (comparedDomains === undefined) return send(() => good.listing.licenses(page, call))
        const { licenses } = await send(() => good.listing.licenses(rest, call))
        return {
          licenses: licenses.filter(({ licenseKey }) =>
            comparedDomains.includes(beside.get(licenseKey)?.domainOrIp ?? ''),
          ),
        }
      },
    }),
  },
  {
    what: 'counts licenses in a counter beside the row',
    says: 'what a reseller has is counted',
    listing: ({ beside }, send) => ({
      countLicenses: ({ resellerId }) =>
        send(
          () =>
            [...beside.values()].filter((each) => resellerId === undefined || each.resellerId === resellerId)
              .length,
        ),
    }),
  },
]

/** Whether a license and what is kept beside it are written in one command. */
function storeOf(data: Data, send: Send, { listing }: Planted, isOneCommand: boolean): AdminStorage {
  const { good, beside } = data
  async function keepBeside(licenseKey: string): Promise<void> {
    const license = await good.findLicense(licenseKey, { timeLeftMs: () => 1000 })
    if (license === null) beside.delete(licenseKey)
    else beside.set(licenseKey, license)
  }
  async function write<Answer>(licenseKey: string, command: () => MaybePromise<Answer>): Promise<Answer> {
    if (isOneCommand)
      return send(async () => {
        const answer = await command()
        await keepBeside(licenseKey)
        return answer
      })
    const answer = await send(command)
    await send(() => keepBeside(licenseKey))
    return answer
  }
  const sent = Object.fromEntries(
    Object.entries(good).map(([name, member]) => [
      name,
      typeof member === 'function'
        ? (...args: unknown[]) => send(() => (member as (...all: unknown[]) => unknown)(...args))
        : member,
    ]),
  ) as unknown as AdminStorage
  return {
    ...sent,
    insertLicense: (license, ...rest) =>
      write(license.licenseKey, () => good.insertLicense(license, ...rest)),
    updateLicense: (update, call) => write(update.licenseKey, () => good.updateLicense(update, call)),
    changeLicense: (key, ...rest) => write(key, () => good.changeLicense(key, ...rest)),
    deleteLicense: (key, call) => write(key, () => good.deleteLicense(key, call)),
    listing: { ...good.listing, ...listing(data, send) },
  }
}

function makeFixture(each: Planted, isOneCommand: boolean, apart: 'seed' | 'second' | null): StorageFixture {
  const { listing, ...good } = memoryStorage()
  const data: Data = { good: { ...good, listing: listing as StorageListing }, beside: new Map() }
  let left = Infinity
  const cuttable: Send = async (command) => {
    const answer = await command()
    left -= 1
    if (left >= 0) return answer
    left = Infinity
    throw new StorageError('unavailable', 'The connection was cut.')
  }
  const direct: Send = async (command) => await command()
  return {
    storage: storeOf(data, cuttable, each, isOneCommand),
    ...(apart !== null && { [apart]: storeOf(data, direct, each, isOneCommand) }),
    cutAfter: (replies) => void (left = replies),
    close() {},
  }
}

const cutCases = (make: () => StorageFixture): ReturnType<typeof storageContract> =>
  storageContract(make).filter(({ name }) => /\bcut\b/.test(name))

describe.each(planted)('an adapter that $what', (each) => {
  test.each(['seed', 'second'] as const)('is caught, with a %s', async (apart) => {
    const [named, ...others] = cutCases(() => makeFixture(each, false, apart)).filter(({ name }) =>
      name.startsWith('a license whose change is cut is listed and counted where it is found'),
    )
    expect(others).toHaveLength(0)
    await expect(named?.run()).rejects.toThrow(each.says)
  })

  test.each(['seed', 'second', null] as const)(
    'and writes both in one command passes every case of a cut, with %s',
    async (apart) => {
      const cases = cutCases(() => makeFixture(each, true, apart))
      const results = await Promise.all(cases.map(async ({ run }) => run()))
      expect(cases).toHaveLength(5)
      expect(new Set(results)).toEqual(new Set([apart === null ? 'not applicable' : 'passed']))
    },
  )
})
