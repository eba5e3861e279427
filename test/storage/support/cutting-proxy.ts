import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** A way to a database server that can be cut. */
export interface CuttingProxy {
  readonly port: number
  /** Passes so many more replies of the server on, drops the next one and cuts all connections, once. */
  cutAfter(replies: number): void
  /** Passes nothing on over the connections that are open now, and closes none of them. */
  freeze(): void
  close(): void
}

/** Listens on a port of its own and passes on what comes to another. */
export async function startCuttingProxy(toPort: number): Promise<CuttingProxy> {
  const sockets = new Set<Socket>()
  const frozen = new WeakSet<Socket>()
  let left = Infinity

  function cut(): void {
    left = Infinity
    for (const socket of sockets) socket.destroy()
  }
  function keep(socket: Socket): void {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
  }
  const server = createServer((client) => {
    const upstream = connect(toPort, '127.0.0.1')
    keep(client)
    keep(upstream)
    client.on('data', (bytes) => {
      if (!frozen.has(client)) upstream.write(bytes)
    })
    upstream.on('data', (bytes) => {
      if (frozen.has(client)) return
      if (left === 0) return cut()
      left -= 1
      client.write(bytes)
    })
    client.on('close', () => upstream.end())
    upstream.on('close', () => client.end())
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    cutAfter: (replies) => (left = replies),
    freeze() {
      for (const socket of sockets) frozen.add(socket)
    },
    close: () => {
      cut()
      server.close()
    },
  }
}
