// What servers in processes of their own have in common whose memory is measured while they are sent too much.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import type { UtilityApi } from 'utility-api'

type Start = (api: UtilityApi) => Promise<number>

const starts: Readonly<Record<string, Start>> = {
  async Node(api) {
    const { toNodeHandler } = await import('utility-api/node')
    return listen(createServer(toNodeHandler(api)))
  },
  async Express(api) {
    const [{ default: express }, { toExpressHandler }] = await Promise.all([
      import('express'),
      import('utility-api/express'),
    ])
    return listen(createServer(express().use(toExpressHandler(api))))
  },
  async Hono(api) {
    const [{ serve }, { guardConnections }] = await Promise.all([
      import('@hono/node-server'),
      import('utility-api/node'),
    ])
    const server = serve({ fetch: (request) => api.fetch(request), port: 0, hostname: '127.0.0.1' }) as Server
    guardConnections(server)
    if (!server.listening) await new Promise((resolve) => server.once('listening', resolve))
    return (server.address() as AddressInfo).port
  },
  async Bun(api) {
    const { toBunHandler } = await import('utility-api/bun')
    const { Bun } = globalThis as unknown as { Bun: { serve(options: object): { port: number } } }
    return Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: toBunHandler(api) }).port
  },
  async serve(api) {
    const { createService } = await import('../../../adapters/cli/serving/http-service.ts')
    return listen(createService(api, { prefix: '', trustProxy: 0, openapi: true }).server)
  },
}

/** Serves with the mount that the command line names. Returns the port. */
export function startMount(api: UtilityApi): Promise<number> {
  return (starts[process.argv[2] ?? ''] as Start)(api)
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen({ port: 0, host: '127.0.0.1', backlog: 8000 }, resolve))
  return (server.address() as AddressInfo).port
}

/** Says `facts` as a line of JSON, and after that this process's memory for every line it reads. Ends with its input. */
export function speak(facts: object): void {
  console.log(JSON.stringify(facts))
  createInterface(process.stdin)
    .on('line', () => console.log(JSON.stringify(memory())))
    .on('close', () => process.exit())
}

/** What is left after a collection: garbage is the machine's affair. */
function memory(): { held: number; rss: number } {
  const { Bun, gc } = globalThis as { Bun?: { gc(synchronously: boolean): void }; gc?: () => void }
  if (Bun === undefined) gc?.()
  else Bun.gc(true)
  const { heapUsed, external, rss } = process.memoryUsage()
  return { held: heapUsed + external, rss }
}
