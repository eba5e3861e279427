import type { AdminStorage } from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'
import { expect, test } from 'vitest'
import { storageContract } from '../../src/testing/storage-contract.ts'

// Each kind of fault in each method that it can be planted in; what the broken adapters of `broken.test.ts` do in one
// place each, everywhere.

type Method = (...args: unknown[]) => unknown
type Change = (value: unknown) => unknown

/** Changes every text, number or hash inside a value, however deep; other values stay. */
function deep(change: Change): Change {
  return function walk(value: unknown): unknown {
    if (typeof value === 'function' || value === null || value === undefined) return value
    if (value instanceof Uint8Array || typeof value !== 'object') return change(value)
    if (Array.isArray(value)) return value.map(walk)
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [
        key,
        key === 'timeLeftMs' ? (each as unknown) : walk(each),
      ]),
    )
  }
}

const onText = (change: (text: string) => string): Change =>
  deep((value) => (typeof value === 'string' ? change(value) : value))
const onTime = (change: (time: number) => number): Change =>
  deep((value) => (typeof value === 'number' ? change(value) : value))
const onHash = (change: (hash: Uint8Array) => Uint8Array): Change =>
  deep((value) => (value instanceof Uint8Array ? change(value) : value))

/** What goes wrong with the values on their way in. */
const kinds: Readonly<Record<string, Change>> = {
  'trims text': onText((text) => text.trim()),
  'folds case': onText((text) => text.toLowerCase()),
  'cuts text at 64 characters': onText((text) => text.slice(0, 64)),
  'loses astral characters': onText((text) => text.replaceAll(/[\u{10000}-\u{10FFFF}]/gu, '?')),
  'keeps seconds': onTime((time) => Math.floor(time / 1000) * 1000),
  'keeps 32 bits of a time': onTime((time) => time % 2 ** 32),
  'takes the first half of a hash': onHash((hash) => hash.map((byte, index) => (index < 16 ? byte : 0))),
  'ends a hash at a zero': onHash((hash) =>
    hash.map((byte, index) => (hash.indexOf(0) in hash && index > hash.indexOf(0) ? 0 : byte)),
  ),
}

const methods = [
  'findClient',
  'findAuthorizationCode',
  'redeemAuthorizationCode',
  'revokeAccessTokensOfCode',
  'findCredential',
  'insertLicense',
  'updateLicense',
  'findLicense',
  'insertClient',
  'updateClient',
  'rotateClientSecret',
  'revokeClient',
  'insertAuthorizationCode',
  'insertReseller',
  'insertCredential',
  'revokeCredential',
  'revokeAccess',
  'changeLicense',
  'deleteLicense',
  'purgeExpired',
] as const

/** Why a fault shows in no answer. */
const unobservable: Readonly<Record<string, string>> = {}

/** A store that is wrong in one way in one method; `touched` says whether the fault ever changed anything. */
function makeBroken(method: string, change: Change): { storage: AdminStorage; touched: () => boolean } {
  const good = memoryStorage() as unknown as Record<string, Method>
  let touched = false
  const broken: Method = (...args) => {
    const changed = args.map((arg) => change(arg))
    if (JSON.stringify(changed) !== JSON.stringify(args)) touched = true
    return good[method]?.(...changed)
  }
  return { storage: { ...good, [method]: broken } as unknown as AdminStorage, touched: () => touched }
}

/** The first case that fails, and whether the fault had anything to change at all. */
async function firstFailure(method: string, change: Change): Promise<string> {
  let isApplicable = false
  let made: ReturnType<typeof makeBroken> | undefined
  const cases = storageContract(() => {
    made = makeBroken(method, change)
    return { storage: made.storage, close() {} }
  })
  for (const { name, run } of cases) {
    // oxlint-disable-next-line no-await-in-loop -- up to the first that fails
    const failed = await run().then(
      () => false,
      () => true,
    )
    isApplicable ||= made?.touched() === true
    if (failed) return name
  }
  return isApplicable ? 'not caught' : 'not applicable'
}

test.each(Object.entries(kinds))(
  'a store that %s is caught in every method',
  async (kind, change) => {
    const cells = await Promise.all(
      methods.map(async (method) => [method, await firstFailure(method, change)]),
    )
    const table = Object.fromEntries(cells) as Record<string, string>
    const uncaught = Object.keys(table).filter(
      (method) => table[method] === 'not caught' && unobservable[`${kind}: ${method}`] === undefined,
    )
    expect(uncaught, JSON.stringify(table, null, 2)).toEqual([])
    expect(Object.values(table).filter((cell) => cell !== 'not applicable').length).toBeGreaterThan(4)
  },
  60_000,
)
