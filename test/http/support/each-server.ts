import { afterAll, beforeAll, describe, test } from 'vitest'
import { hosts } from '../../hosts/hosts.ts'
import { rawClient, type RawClient } from './raw.ts'
import { missingRuntime, remotes } from './remote.ts'
import { allSurfaces, surfaces } from './surfaces.ts'
import { createWorld, type World, type WorldOptions } from './world.ts'

/** A mount in a server that listens for HTTP/1, and connections to it. */
export interface Server {
  readonly name: string
  readonly world: World
  /** The path before the contract's own paths. */
  readonly prefix: string
  connect(): Promise<RawClient>
}

// What the frameworks and platforms of others do with a connection is their own.
const others: ReadonlySet<string> = new Set(hosts.map(({ name }) => name))
const listening = Object.keys({ ...surfaces, ...(allSurfaces && remotes) }).filter(
  (name) => !/fetch|http2|Prism/.test(name) && !others.has(name),
)

/** Declares the same tests for every server; each gets a world of its own. */
export function describeEachServer(
  title: string,
  options: WorldOptions,
  declare: (server: () => Server) => void,
): void {
  describe.each(listening)(`${title}: %s`, (name) => {
    const missing = missingRuntime(name)
    if (missing !== null) return test.skip(missing)
    let server: Server
    const clients: RawClient[] = []

    beforeAll(async () => {
      const world = await createWorld(name, options)
      const { port = 0, prefix = '' } = world.address ?? {}
      const connect = async (): Promise<RawClient> => {
        const client = await rawClient(port)
        clients.push(client)
        return client
      }
      server = { name, world, prefix, connect }
    })
    afterAll(async () => {
      for (const client of clients) client.close()
      await server.world.close()
    })

    declare(() => server)
  })
}
