import { AsyncLocalStorage } from 'node:async_hooks'
import type { AdminStorage } from 'utility-api/storage'
import { counting, replacing } from './round-trips.ts'
import { call } from './call.ts'
import { newLicense } from './license.ts'

const current = new AsyncLocalStorage<string>()
/** Whose context each use of a driver was in. */
let seen: string[] = []
const note = (): void => void seen.push(current.getStore() ?? 'nobody')

/** Watches a pool: who asks it for connections, and who sends statements on these. */
export function watchPool<Pool extends object>(pool: Pool, lend: keyof Pool & string): Pool {
  const watched = async (): Promise<object> => {
    note()
    const connection = await (pool[lend] as () => Promise<object>)()
    return counting(connection, ['query', 'execute'], note)
  }
  return replacing(pool, lend, watched)
}

const as = <Result>(name: string, work: () => Result): Result => current.run(name, work)

async function contextsOf(...work: (() => unknown)[]): Promise<string[]> {
  seen = []
  await Promise.all(work.map((each) => each()))
  return [...new Set(seen)]
}

/** Returns the contexts in which a store uses its driver for one caller, for two at once, and for one who is joined. */
export async function contextsOfStore(
  storage: AdminStorage,
  holdConnections: () => Promise<() => void>,
): Promise<Record<string, string[]>> {
  const find = (name: string): unknown =>
    as(name, () => storage.findCredential('api_key', Buffer.alloc(32, name), call))
  const insert = (name: string): unknown =>
    as(name, () => storage.insertLicense(newLicense(`${name} ${Math.random()}`), undefined, call))
  await storage.insertReseller({ resellerId: 'r', createdAt: 1 }, call)
  // The first calls look at the schema, on behalf of all.
  await find('ada')
  await insert('ada')
  const contexts = {
    'a lookup': await contextsOf(() => find('ada')),
    'two lookups': await contextsOf(
      () => find('ada'),
      () => find('bob'),
    ),
    'a write': await contextsOf(() => insert('ada')),
    'two writes': await contextsOf(
      () => insert('ada'),
      () => insert('bob'),
    ),
  }
  const release = await holdConnections()
  seen = []
  const first = find('ada')
  await new Promise((resolve) => setImmediate(resolve))
  const second = find('bob')
  release()
  await Promise.all([first, second])
  return { ...contexts, 'a lookup that another joins': [...new Set(seen)] }
}

/** What `contextsOfStore` returns. The connection of a lookup that is joined was asked for before that. */
export const expectedContexts: Readonly<Record<string, readonly string[]>> = {
  'a lookup': ['ada'],
  'two lookups': ['nobody'],
  'a write': ['ada'],
  'two writes': ['nobody'],
  'a lookup that another joins': ['ada', 'nobody'],
}
