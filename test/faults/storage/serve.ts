import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createUtilityApi, type UtilityApiOptions } from 'utility-api'
import { toNodeHandler } from 'utility-api/node'

/** A server in this process, for the clients of `load.ts`. */
export async function serveHere(
  options: UtilityApiOptions,
): Promise<{ origin: string; close(): Promise<void> }> {
  const api = createUtilityApi({ dns: false, blockgame: false, ...options })
  const server = createServer(toNodeHandler(api))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.close()
      server.closeAllConnections()
      await api.close()
    },
  }
}
