import { randomBytes } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { AdminStorage } from 'utility-api/storage'
import { expect } from 'vitest'
import { call } from './call.ts'
import { errorOf } from './error-of.ts'
import { newLicense } from './license.ts'
import { eventually } from '../../support/eventually.ts'

type Migrated = AdminStorage & { migrate(): Promise<unknown> }

/** Adds a step to those of a store, as the next version would, while some work is done. */
export async function withStep<Step, Result>(
  steps: readonly Step[],
  step: Step,
  work: () => Promise<Result>,
): Promise<Result> {
  const all = steps as Step[]
  all.push(step)
  try {
    return await work()
  } finally {
    all.pop()
  }
}

/** A store of which the next version has one step more. */
interface NextVersion<Step> {
  readonly steps: readonly Step[]
  readonly step: Step
  /** Opens the store on a connection of its own. */
  readonly open: () => Migrated
  /** Reads the row that says which steps were taken. */
  readonly readSchema: () => Promise<unknown>
}

/**
 * While a server serves, five of the next version migrate: the step is taken once, nobody is refused, nothing is lost, and
 * a server of this version starts on what they have made.
 */
export async function verifyStepUnderLoad<Step>(next: NextVersion<Step>): Promise<void> {
  const serving = next.open()
  await serving.migrate()
  const load = startLoad(serving)
  await load.goesOn()
  await withStep(next.steps, next.step, () =>
    Promise.all(Array.from({ length: 5 }, () => next.open().migrate())),
  )
  await load.goesOn()
  const keys = await load.stop()
  const restarted = next.open()
  await restarted.migrate()
  expect(await next.readSchema()).toEqual({ version: 1, step: next.steps.length + 1 })
  const found = await Promise.all(keys.map((key) => restarted.findLicense(key, call)))
  expect(found.map((each) => each?.status)).toEqual(keys.map(() => 'sold'))
}

interface Load {
  /** Waits until every caller was answered twice more. */
  goesOn(): Promise<void>
  /** Returns the keys of all licenses. Throws if anybody was refused. */
  stop(): Promise<readonly string[]>
}

/** Four callers that sell licenses and exchange codes, one after the other. */
function startLoad(storage: Migrated): Load {
  const done = [0, 0, 0, 0]
  const keys: string[] = []
  const stopped = new AbortController()
  const callers = done.map(async (_, caller) => {
    while (!stopped.signal.aborted) {
      const key = `LIC-${caller}-${done[caller]}`
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await sell(storage, key)
      // oxlint-disable-next-line no-await-in-loop -- as above
      await exchange(storage, key)
      keys.push(key)
      done[caller] = (done[caller] ?? 0) + 1
      // oxlint-disable-next-line no-await-in-loop -- lets others in
      await setImmediate()
    }
  })
  const all = Promise.all(callers)
  return {
    async goesOn() {
      const before = [...done]
      const seen = eventually(
        () => expect(done.every((count, caller) => count > (before[caller] ?? 0) + 1)).toBe(true),
        { timeout: 20_000 },
      )
      await Promise.race([seen, all])
    },
    async stop() {
      stopped.abort()
      await all
      return keys
    },
  }
}

async function sell(storage: Migrated, key: string): Promise<void> {
  expect(await storage.insertLicense(newLicense(key), undefined, call)).toBe('inserted')
  const update = { licenseKey: key, resellerId: 'r', patch: { status: 'sold' }, at: 5 }
  expect(await storage.updateLicense(update, call)).toBe('updated')
}

async function exchange(storage: Migrated, id: string): Promise<void> {
  const [codeHash, hash] = [randomBytes(32), randomBytes(32)]
  const grant = { subject: null, scope: '', expiresAt: 9000 }
  const code = { ...grant, clientId: 'shop', redirectUri: 'x:/', codeChallenge: null, redeemedAt: null }
  await storage.insertAuthorizationCode(codeHash, code, call)
  const token = { ...grant, id, hash, ownerId: 'shop', createdAt: 5 }
  expect(await storage.redeemAuthorizationCode(codeHash, 5, token, call)).toBe(true)
  expect(await storage.findCredential('access_token', hash, call)).toMatchObject({ id })
}

/** A store whose schema says version 99 is refused, before anything is read or written. */
export async function verifyTooNew(storage: Migrated): Promise<void> {
  const calls = [
    () => storage.migrate(),
    () => storage.findClient('a', call),
    () => storage.insertLicense(newLicense('a'), undefined, call),
  ]
  const errors = await Promise.all(calls.map(errorOf))
  expect(
    errors.map(({ kind, message }) => [kind, /version 99.*Update utility-api, or restore/.test(message)]),
  ).toEqual(calls.map(() => ['invalid', true]))
}
