// Resolvers and game servers of the fairness benchmark. The first resolver says nothing about names below `hanging.test`.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { fakeBlockgameServer } from 'utility-api/testing'

/** What the parent is told. */
export interface Remote {
  readonly resolverPorts: readonly number[]
  readonly gamePort: number
  /** Listens at every loopback address, and never says a word. */
  readonly silentPort: number
}

const silent = Buffer.from('\u0007hanging\u0004test')
const record = Buffer.from('c00c000100010000003c00047f000001', 'hex')

async function startResolver(_: unknown, index: number): Promise<number> {
  const socket = createSocket('udp4')
  socket.on('message', (query, { port, address }) => {
    if (index === 0 && query.includes(silent)) return
    const reply = Buffer.concat([query.subarray(0, query.indexOf(0, 12) + 5), record])
    reply.writeUInt16BE(0x8180, 2)
    reply.writeUInt16BE(1, 6)
    reply.writeUInt32BE(0, 8)
    socket.send(reply, port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return socket.address().port
}

const silentServer = createServer((socket) => socket.on('error', () => {})).listen(0, '0.0.0.0')
await once(silentServer, 'listening')
const remote: Remote = {
  resolverPorts: await Promise.all(Array.from({ length: 12 }, startResolver)),
  gamePort: (await fakeBlockgameServer()).port,
  silentPort: (silentServer.address() as AddressInfo).port,
}
process.on('disconnect', () => process.exit())
process.send?.(remote)
