// A Minecraft server that costs as little as possible, so that the client is what gets measured: on several ports. Runs
// in Bun.
import { encodeStatusPacket } from '../../src/testing/blockgame-server.ts'
import { benchStatus } from './blockgame-floor.ts'

interface BunSocket {
  data: boolean
  write(bytes: Uint8Array): number
}

declare const Bun: {
  listen(options: {
    hostname: string
    port: number
    socket: {
      open(socket: BunSocket): void
      data(socket: BunSocket, bytes: Uint8Array): void
      error(): void
    }
  }): { port: number }
}

const status = encodeStatusPacket(benchStatus)

const listen = (): number =>
  Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open(socket) {
        socket.data = false
      },
      data(socket, bytes) {
        // Some clients send the handshake and the request apart; the request ends in 01 00.
        const asks = bytes.at(-1) === 0 && bytes.at(-2) === 1
        if (socket.data) socket.write(bytes)
        else if (asks) {
          socket.data = true
          socket.write(status)
        }
      },
      error() {},
    },
  }).port

process.on('disconnect', () => process.exit())
process.send?.(Array.from({ length: 8 }, listen))
