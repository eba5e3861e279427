// The least that Node can do for the same work: a hand-written lookup that trusts the server in everything.
import { connect } from 'node:net'

const players = Array.from({ length: 12 }, (_, index) => ({
  name: `Player${index}`,
  id: `00000000-0000-4000-8000-0000000000${index + 10}`,
}))

/** A status of 8,192 bytes of JSON, as a server with an icon and a message sends it. */
export const benchStatus: string = (() => {
  const status = {
    version: { name: 'Paper 1.21.4', protocol: 769 },
    players: { max: 200, online: 57, sample: players },
    description: {
      text: '',
      extra: [{ text: 'A Minecraft server', color: 'gold' }, { text: '\nwith two lines' }],
    },
    favicon: 'data:image/png;base64,iVBORw0KGgo',
    enforcesSecureChat: true,
  }
  status.favicon += 'A'.repeat(8192 - JSON.stringify(status).length)
  return JSON.stringify(status)
})()

export interface FloorStatus {
  readonly online: number
  readonly max: number
  readonly name: string
  readonly protocol: number
  readonly latencyMs: number
}

const request = (host: string, port: number): Buffer => {
  const name = Buffer.from(host)
  const head = Buffer.from([10 + name.length, 0, 0xff, 0xff, 0xff, 0xff, 0x0f, name.length])
  return Buffer.concat([head, name, Buffer.from([port >> 8, port & 0xff, 1, 1, 0])])
}
const ping = Buffer.from([9, 1, 0, 0, 0, 0, 0, 0, 0, 0])

export function floorLookup(host: string, port: number, timeoutMs = 5000): Promise<FloorStatus> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true })
    const timer = setTimeout(() => socket.destroy(new Error('timeout')), timeoutMs)
    let received: Buffer = Buffer.alloc(0)
    let status: Omit<FloorStatus, 'latencyMs'> | undefined
    let pingedAt = 0
    socket.on('data', (chunk) => {
      const now = performance.now()
      if (status) {
        clearTimeout(timer)
        socket.destroy()
        return resolve({ ...status, latencyMs: now - pingedAt })
      }
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
      const text = decodeFloor(received)
      if (text === null) return
      status = text
      socket.write(ping)
      pingedAt = performance.now()
    })
    socket.on('error', (error) => {
      clearTimeout(timer)
      reject(error)
    })
    socket.write(request(host, port))
  })
}

/** The status in these bytes; null when they are not all there. */
export function decodeFloor(bytes: Buffer): Omit<FloorStatus, 'latencyMs'> | null {
  const length = varInt(bytes, 0)
  if (length === null || bytes.length < length.end + length.value) return null
  const size = varInt(bytes, length.end + 1)
  if (size === null) return null
  const { players: counts, version } = JSON.parse(
    bytes.toString('utf8', size.end, size.end + size.value),
  ) as {
    players: { online: number; max: number }
    version: { name: string; protocol: number }
  }
  return { online: counts.online, max: counts.max, name: version.name, protocol: version.protocol }
}

function varInt(bytes: Buffer, offset: number): { value: number; end: number } | null {
  let value = 0
  for (let index = 0; index < 5; index += 1) {
    const byte = bytes[offset + index]
    if (byte === undefined) return null
    value |= (byte & 0x7f) << (7 * index)
    if (byte < 0x80) return { value, end: offset + index + 1 }
  }
  return null
}
