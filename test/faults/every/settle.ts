import type { AdminStorage } from 'utility-api/storage'
import { call } from '../../storage/support/call.ts'
import { newLicense } from '../../storage/support/license.ts'
import type { BoundAdmin } from '../../../src/testing/contract/bound.ts'
import type { Verdict } from '../../histories/support/judge.ts'
import type { History } from '../../histories/support/recording.ts'
import type { World } from './place.ts'

/** How many of the calls without an answer are repeated. */
const maxRepeats = 20

/** A call changes rows in several transactions, of which the first may have been done: a repeat counts the others. */
const severalSteps: ReadonlySet<string> = new Set(['revokeClient', 'revokeAccess', 'purgeExpired'])

/**
 * After a fault: the next calls work, what got no answer can be asked again, and all rows are read. Returns what is
 * wrong with the history then.
 */
export async function settle(world: Pick<World, 'storage' | 'reopen'>, history: History): Promise<Verdict> {
  let storage = history.record(world.storage)
  try {
    await askEach(storage).catch(async (error: unknown) => {
      if (!String(error).includes('is closed')) throw error
      storage = history.record(world.reopen())
      await askEach(storage)
    })
    for (const { method, args } of history.unknown.slice(0, maxRepeats)) {
      await (storage[method] as (...args: unknown[]) => Promise<unknown>)(...args, call).catch(() => {})
      const repeat = history.calls.at(-1)
      if (repeat !== undefined && severalSteps.has(method)) history.anyAnswer(repeat)
    }
    await readAll(storage, history)
  } catch (error) {
    history.mistakes.push(`the next call: ${String(error)}`)
  }
  return history.judge()
}

/** One of each, on rows of its own. */
async function askEach(storage: AdminStorage): Promise<void> {
  const bytes = (number: number): Uint8Array => new Uint8Array(32).fill(number)
  const clientId = 'next client'
  const license = newLicense('next', { resellerId: 'next reseller' })
  const key = {
    resellerId: 'next reseller',
    keyHash: bytes(252),
    requestHash: bytes(253),
    at: 1,
    expiresAt: 2 ** 41,
  }
  const code = { clientId, subject: null, redirectUri: 'https://a.example/', scope: '', codeChallenge: null }
  const owned = { ownerId: clientId, subject: null, scope: '', createdAt: 1, expiresAt: 2 ** 41 }
  const update = { licenseKey: 'next', resellerId: 'next reseller', patch: { status: 'new' }, at: 2 }
  await storage.insertClient(
    { clientId, secretHashes: [bytes(254)], redirectUris: [], createdAt: 1, revokedAt: null },
    call,
  )
  await storage.insertReseller({ resellerId: 'next reseller', createdAt: 1 }, call)
  await storage.insertAuthorizationCode(bytes(251), { ...code, expiresAt: 2 ** 41, redeemedAt: null }, call)
  await storage.redeemAuthorizationCode(bytes(251), 2, { id: 'next token', hash: bytes(250), ...owned }, call)
  await storage.insertLicense(license, key, call)
  await storage.insertLicense({ ...license, licenseKey: 'again' }, key, call)
  await storage.updateLicense(update, call)
  await storage.revokeAccessTokensOfCode(bytes(251), 3, call)
}

/** Reads every row that any call named. */
async function readAll(storage: AdminStorage, { calls }: History): Promise<void> {
  const reads = new Map<string, () => unknown>()
  const read = (text: string, ask: () => unknown): void => void reads.set(text, ask)
  const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
  const readCode = (hash: Uint8Array): void =>
    read(`code ${hex(hash)}`, () => storage.findAuthorizationCode(hash, call))
  const readCredential = (...[kind, hash]: Parameters<BoundAdmin['findCredential']>): void =>
    read(`${kind} ${hex(hash)}`, () => storage.findCredential(kind, hash, call))
  for (const { method, args, refused } of calls) {
    // Its row is none, and may have a name that no store can look for.
    if (refused) continue
    if (method === 'insertClient') {
      const [{ clientId }] = args as Parameters<BoundAdmin['insertClient']>
      read(`client ${clientId}`, () => storage.findClient(clientId, call))
    } else if (method === 'insertReseller') {
      const [{ resellerId }] = args as Parameters<BoundAdmin['insertReseller']>
      read(`reseller ${resellerId}`, () => storage.findReseller(resellerId, call))
    } else if (method === 'insertAuthorizationCode') {
      readCode((args as Parameters<BoundAdmin['insertAuthorizationCode']>)[0])
    } else if (method === 'redeemAuthorizationCode') {
      const [, , { hash }] = args as Parameters<BoundAdmin['redeemAuthorizationCode']>
      readCredential('access_token', hash)
    } else if (method === 'insertCredential') {
      const [kind, hash] = args as Parameters<BoundAdmin['insertCredential']>
      readCredential(kind, hash)
    } else if (method === 'insertLicense') {
      const [{ licenseKey }] = args as Parameters<BoundAdmin['insertLicense']>
      read(`license ${licenseKey}`, () => storage.findLicense(licenseKey, call))
    }
  }
  for (const readIt of reads.values()) await readIt()
}
