import { ChildProcess } from 'node:child_process'
import { Socket as DatagramSocket } from 'node:dgram'
import { Server, Socket } from 'node:net'

// What `npm run test:quick` runs starts no process, no server, and asks no network: it takes seconds and disturbs nobody.

function refuse(owner: object, method: string): void {
  Object.defineProperty(owner, method, {
    value() {
      throw new Error(`A quick test called ${method}: take its file out of "quick" in vitest.config.ts.`)
    },
  })
}

refuse(ChildProcess.prototype, 'spawn')
refuse(Server.prototype, 'listen')
refuse(Socket.prototype, 'connect')
refuse(DatagramSocket.prototype, 'bind')
refuse(DatagramSocket.prototype, 'send')
