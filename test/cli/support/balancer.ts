import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** A balancer of TCP connections: asks every server for its health, and gives new connections to healthy ones in turn. */
export interface Balancer {
  readonly port: number
  /** The ports of the servers that are healthy now. */
  healthy(): number[]
  close(): Promise<void>
}

const healthIntervalMs = 50

export async function startBalancer(ports: readonly number[]): Promise<Balancer> {
  let healthy: number[] = []
  let turn = 0
  const sockets = new Set<Socket>()
  const keep = (socket: Socket): Socket => {
    sockets.add(socket)
    return socket.on('error', () => socket.destroy()).once('close', () => sockets.delete(socket))
  }
  const server = createServer((client) => {
    turn += 1
    const port = healthy[turn % healthy.length]
    keep(client)
    // Nothing is tried a second time: what goes wrong shall be seen.
    const upstream = keep(connect(port ?? 0, '127.0.0.1'))
    client.pipe(upstream).pipe(client)
    client.once('close', () => upstream.destroy())
    upstream.once('close', () => client.destroySoon())
  })
  const timer = setInterval(async () => {
    const states = await Promise.all(ports.map(isHealthy))
    healthy = ports.filter((_, at) => states[at])
  }, healthIntervalMs)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    healthy: () => healthy,
    async close() {
      clearInterval(timer)
      sockets.forEach((socket) => socket.destroy())
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function isHealthy(port: number): Promise<boolean> {
  const answer = await fetch(`http://127.0.0.1:${port}/health`).catch(() => null)
  await answer?.arrayBuffer()
  return answer?.status === 200
}
