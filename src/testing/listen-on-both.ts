import { createSocket, type Socket as UdpSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server } from 'node:net'

interface Listening {
  readonly tcp: Server
  readonly udp: UdpSocket
  readonly port: number
}

/** Listens on the same port for UDP and TCP. A port that is free for one may be taken for the other, so several are tried. */
export async function listenOnBoth(ip: string, wantedPort = 0, triesLeft = 10): Promise<Listening> {
  const tcp = createServer()
  const udp = createSocket(ip.includes(':') ? 'udp6' : 'udp4')
  tcp.listen(wantedPort, ip)
  await once(tcp, 'listening')
  const { port } = tcp.address() as AddressInfo
  try {
    udp.bind(port, ip)
    await once(udp, 'listening')
    return { tcp, udp, port }
  } catch (error) {
    tcp.close()
    udp.close()
    if (wantedPort !== 0 || triesLeft === 0) throw error
    return listenOnBoth(ip, wantedPort, triesLeft - 1)
  }
}
