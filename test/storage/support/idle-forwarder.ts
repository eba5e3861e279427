import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** How an idle connection is cut: it is closed, or forgotten, so that the next octets are answered by a reset or by nothing. */
export type IdleCut = 'closes' | 'resets' | 'says nothing'

/** A way to a database server that cuts connections on which nothing was sent for a while. */
export interface IdleForwarder {
  readonly port: number
  /** How many connections it has cut. */
  readonly cuts: number
  close(): void
}

export async function startIdleForwarder(
  toPort: number,
  limitMs: number,
  cut: IdleCut,
): Promise<IdleForwarder> {
  const sockets = new Set<Socket>()
  let cuts = 0
  function keep(socket: Socket): void {
    sockets.add(socket)
    socket
      .setNoDelay(true)
      .on('error', () => {})
      .on('close', () => sockets.delete(socket))
  }
  const server = createServer((client) => {
    const upstream = connect(toPort, '127.0.0.1')
    let isForgotten = false
    const timer = setTimeout(() => {
      cuts += 1
      isForgotten = true
      upstream.destroy()
      if (cut === 'closes') client.destroy()
    }, limitMs)
    keep(client)
    keep(upstream)
    client.on('data', (octets) => {
      if (isForgotten) {
        if (cut === 'resets') client.resetAndDestroy()
        return
      }
      timer.refresh()
      upstream.write(octets)
    })
    upstream.on('data', (octets) => {
      timer.refresh()
      client.write(octets)
    })
    client.on('close', () => {
      clearTimeout(timer)
      upstream.destroy()
    })
    upstream.on('close', () => (isForgotten ? undefined : client.destroy()))
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    get cuts() {
      return cuts
    },
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
