import { parseIpAddress } from '../domain/ip-address.ts'
import type { Connection, Ends } from './connection.ts'

const signature = Buffer.from('0d0a0d0a000d0a515549540a', 'hex')
const proxied = 0x21
const [tcp4, tcp6] = [0x11, 0x21]

/** Returns what to send first on a connection: the bytes, after a PROXY header if its version is given. */
export function withProxyHeader(
  bytes: Uint8Array,
  connection: Connection,
  version: 1 | 2 | undefined,
): Uint8Array {
  if (version === undefined) return bytes
  const { ends } = connection
  return Buffer.concat([version === 1 ? proxyHeader1(ends) : proxyHeader2(ends), bytes])
}

/**
 * Encodes a PROXY header of version 1, a line of text.
 *
 * @see {@link https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt | The PROXY protocol}, section 2.1
 */
function proxyHeader1({ localIp, localPort, remoteIp, remotePort }: Ends): Uint8Array {
  const family = localIp.includes(':') ? 'TCP6' : 'TCP4'
  return Buffer.from(`PROXY ${family} ${localIp} ${remoteIp} ${localPort} ${remotePort}\r\n`)
}

/** Encodes a PROXY header of version 2, which is binary (section 2.2). */
function proxyHeader2({ localIp, localPort, remoteIp, remotePort }: Ends): Uint8Array {
  const addresses = [localIp, remoteIp].map((ip) => parseIpAddress(ip) ?? new Uint8Array())
  const ports = Buffer.alloc(4)
  ports.writeUInt16BE(localPort, 0)
  ports.writeUInt16BE(remotePort, 2)
  const body = Buffer.concat([...addresses, ports])
  const head = Buffer.of(proxied, localIp.includes(':') ? tcp6 : tcp4, 0, body.length)
  return Buffer.concat([signature, head, body])
}
