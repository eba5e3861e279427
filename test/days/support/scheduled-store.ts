import { StorageError, type AdminStorage, type StorageCall } from 'utility-api/storage'
import type { OpenCall, Scene, Server } from './day-scene.ts'
import { hex } from './ledger.ts'

type Method = (...args: readonly unknown[]) => unknown

/** How a call of a store ends. Most are done and answered. Provisioning itself has no deadline, so stores must not hang there. */
function fateOf(
  { random, faults }: Scene,
  canHang: boolean,
): 'done' | 'refused' | 'lost' | 'hangs' | 'done and hangs' {
  const draw = faults ? random.integer(100) : 99
  if (draw < 4) return 'refused'
  if (draw < 9) return 'lost'
  if (draw < 11 && canHang) return 'hangs'
  return draw === 11 && canHang ? 'done and hangs' : 'done'
}

/** Whose share of the storage's places a call takes; undefined where it looks up a caller. */
function callerOf(scene: Scene, method: string, args: readonly unknown[]): string | undefined {
  if (method === 'updateLicense' || method === 'insertLicense')
    return (args[0] as { resellerId: string }).resellerId
  if (args[0] instanceof Uint8Array) return scene.ledger.codes.get(hex(args[0]))?.code.clientId
  return undefined
}

/** A store as one server sees it: each call waits to be done, and its answer to be delivered, till the seed says so. */
export function scheduledStore(scene: Scene, store: AdminStorage, server: Server): AdminStorage {
  const { ledger, sequence, underWay } = scene
  let last = 0

  function schedule(method: string, args: readonly unknown[]): Promise<unknown> {
    const call = args.at(-1) as StorageCall
    const label = `${server.name} ${method} ${(last += 1)}`
    scene.must(server.state !== 'closed', `${label}: asked after the server was closed`)
    scene.must(call.timeLeftMs() > 0, `${label}: asked when nobody waits any more`)
    const open: OpenCall = {
      method,
      caller: callerOf(scene, method, args),
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
          scene.note('store call not begun in time')
          return refuse('too late')
        }
        const fate = fateOf(scene, server.name !== 'admin')
        if (fate === 'refused') return refuse('refused')
        if (fate === 'hangs') return scene.trace(`  ${label}: hangs`)
        let answer: unknown
        try {
          answer = (store[method as keyof AdminStorage] as Method)(...args)
        } catch (error) {
          return deliver('fails', () => reject(error as Error))
        }
        sequence.now += 1
        const broken = ledger.applied(method, args, answer, sequence.now)
        scene.must(broken === undefined, `${label}: ${broken}`)
        if (method === 'redeemAuthorizationCode' && answer === false) scene.note('race for a code lost')
        if (fate === 'done and hangs') return scene.trace(`  ${label}: done, and hangs`)
        if (fate === 'done') return deliver('answer', () => resolve(answer))
        scene.note('answer lost')
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
