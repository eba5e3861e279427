import { StorageError, type AdminStorage, type StorageCall } from 'utility-api/storage'
import type { OpenCall, Scene, Server } from './day-scene.ts'
import { hex } from './ledger.ts'
import type { UnderWay } from './under-way.ts'

type Method = (...args: readonly unknown[]) => unknown

/** How a call of a store ends: what it does, and what its caller hears of that. */
export type Fate = 'done' | 'refused' | 'lost' | 'hangs' | 'done and hangs'

/** What decides when a call of a store is done and how it ends, and watches. */
export interface Scheduler extends Pick<Scene, 'must' | 'note' | 'trace'> {
  readonly underWay: Pick<UnderWay, 'add'>
  fateOf(method: string): Fate
  /** Whose share of the storage's places a call takes; undefined where it looks up a caller. */
  callerOf(method: string, args: readonly unknown[]): string | undefined
  /** Notes a call that the store has done. Returns what must not be. */
  applied(method: string, args: readonly unknown[], answer: unknown): string | undefined
}

/** A seed decides, and a ledger watches. Provisioning itself has no deadline, so stores must not hang there. */
export function schedulerOf(scene: Scene, canHang: boolean): Scheduler {
  const { random, ledger, sequence } = scene
  return {
    ...scene,
    fateOf() {
      const draw = scene.faults ? random.integer(100) : 99
      if (draw < 4) return 'refused'
      if (draw < 9) return 'lost'
      if (draw < 11 && canHang) return 'hangs'
      return draw === 11 && canHang ? 'done and hangs' : 'done'
    },
    callerOf(method, args) {
      if (method === 'updateLicense' || method === 'insertLicense')
        return (args[0] as { resellerId: string }).resellerId
      return args[0] instanceof Uint8Array ? ledger.codes.get(hex(args[0]))?.code.clientId : undefined
    },
    applied(method, args, answer) {
      sequence.now += 1
      if (method === 'redeemAuthorizationCode' && answer === false) scene.note('race for a code lost')
      return ledger.applied(method, args, answer, sequence.now)
    },
  }
}

/** A store as one server sees it: each call waits to be done, and its answer to be delivered, till its scheduler says so. */
export function scheduledStore(
  scheduler: Scheduler,
  store: AdminStorage,
  server: Pick<Server, 'name' | 'state' | 'calls'>,
): AdminStorage {
  const { underWay } = scheduler
  let last = 0

  function schedule(method: string, args: readonly unknown[]): Promise<unknown> {
    const call = args.at(-1) as StorageCall
    const label = `${server.name} ${method} ${(last += 1)}`
    scheduler.must(server.state !== 'closed', `${label}: asked after the server was closed`)
    scheduler.must(call.timeLeftMs() > 0, `${label}: asked when nobody waits any more`)
    const open: OpenCall = {
      method,
      caller: scheduler.callerOf(method, args),
      timeLeftMs: () => call.timeLeftMs(),
    }
    server.calls.add(open)
    return new Promise((resolve, reject) => {
      // A process that is gone has no use for answers, and sends nothing. What it has sent may still be done.
      if (server.state === 'killed') return
      const deliver = (what: string, end: () => void): void =>
        underWay.add(`${label}: ${what}`, () => {
          server.calls.delete(open)
          if (server.state !== 'killed') end()
        })
      const refuse = (why: string): void => deliver(why, () => reject(new StorageError('unavailable', why)))
      underWay.add(label, () => {
        if (call.timeLeftMs() <= 0) {
          scheduler.note('store call not begun in time')
          return refuse('too late')
        }
        const fate = scheduler.fateOf(method)
        if (fate === 'refused') return refuse('refused')
        if (fate === 'hangs') return scheduler.trace(`  ${label}: hangs`)
        let answer: unknown
        try {
          answer = (store[method as keyof AdminStorage] as Method)(...args)
        } catch (error) {
          return deliver('fails', () => reject(error as Error))
        }
        const broken = scheduler.applied(method, args, answer)
        scheduler.must(broken === undefined, `${label}: ${broken}`)
        if (fate === 'done and hangs') return scheduler.trace(`  ${label}: done, and hangs`)
        if (fate === 'done') return deliver('answer', () => resolve(answer))
        scheduler.note('answer lost')
        return refuse('done, and lost')
      })
    })
  }

  const methods = Object.entries(store).filter(
    ([name, value]) => typeof value === 'function' && name !== 'close',
  )
  return Object.fromEntries(
    methods.map(([name]) => [name, (...args: readonly unknown[]) => schedule(name, args)]),
  ) as unknown as AdminStorage
}
