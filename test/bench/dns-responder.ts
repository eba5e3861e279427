// Answers every question with 127.0.0.1, where no real server is installed.
import { createSocket } from 'node:dgram'
import type { Target } from './dns-subjects.ts'

const { ips, port } = JSON.parse(process.argv[2] ?? '') as Target
const answer = Buffer.from('c00c000100010000000100047f000001', 'hex')
for (const ip of ips) {
  const socket = createSocket('udp4')
  socket.on('message', (query, { port: client, address }) => {
    const questionEnd = query.indexOf(0, 12) + 5
    const reply = Buffer.concat([query.subarray(0, questionEnd), answer])
    reply.writeUInt16BE(0x8180, 2)
    reply.writeUInt16BE(1, 6)
    reply.writeUInt32BE(0, 8)
    socket.send(reply, client, address)
  })
  socket.bind(port, ip)
}
process.send?.('ready')
