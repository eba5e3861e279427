// The clients that are compared, each asking for the A record of a name.
import { createSocket, type Socket } from 'node:dgram'
import { Resolver } from 'node:dns'
import { createRequire } from 'node:module'
import { createDnsClient, type DnsAnswer } from 'utility-api/dns'

export interface Target {
  readonly ips: readonly string[]
  readonly port: number
}

/** Asks one of the servers for a name; resolves to an address. */
export type Ask = (name: string, server: number) => Promise<unknown>

const require = createRequire(new URL('../peers/package.json', import.meta.url))

export const subjects: Readonly<Record<string, (target: Target) => Ask>> = {
  'utility-api': ({ ips, port }) => {
    const client = createDnsClient()
    const servers = ips.map((ip) => ({ ip, port }))
    return (name, index) =>
      client.query({ name, type: 'A', server: servers[index] ?? { ip: '' } }).then(addressOf)
  },

  'node:dns (c-ares)': ({ ips, port }) => {
    const resolvers = ips.map((ip) => {
      const resolver = new Resolver()
      resolver.setServers([`${ip}:${port}`])
      return resolver
    })
    return (name, index) =>
      new Promise((resolve, reject) => {
        resolvers[index]?.resolve4(name, { ttl: true }, (error, records) =>
          error === null ? resolve(records[0]?.address) : reject(error),
        )
      })
  },

  dns2: ({ ips, port }) => {
    const { UDPClient } = require('dns2') as {
      UDPClient(options: object): (name: string, type: string) => Promise<{ answers: { address: string }[] }>
    }
    const clients = ips.map((dns) => UDPClient({ dns, port }))
    return async (name, index) => (await clients[index]?.(name, 'A'))?.answers[0]?.address
  },

  'ceiling (node:dgram)': ({ ips, port }) => {
    const ask = openCeilings(ips, port)
    return (name, index) => new Promise((resolve) => ask(name, index, resolve))
  },

  'ceiling, sends gathered': ({ ips, port }) => {
    const ask = openCeilings(ips, port)
    let asked: (() => void)[] = []
    const sendAll = (): void => {
      const sends = asked
      asked = []
      for (const send of sends) send()
    }
    return (name, index) =>
      new Promise((resolve) => {
        if (asked.push(() => ask(name, index, resolve)) === 1) setImmediate(sendAll)
      })
  },
}

function addressOf({ records: [first] }: DnsAnswer): string | undefined {
  return first?.type === 'A' ? first.ip : undefined
}

/**
 * As many connected sockets, nothing checked, nothing decoded, no deadline: what Node can do at all. With sends
 * gathered as ours are, it is the harder measure.
 */
function openCeilings(
  ips: readonly string[],
  port: number,
): (name: string, index: number, done: (answer: unknown) => void) => void {
  const pools = ips.map((ip) => Array.from({ length: 4 }, () => openCeiling(ip, port)))
  let turn = 0
  return (name, index, done) => {
    turn += 1
    pools[index]?.[turn & 3]?.(name, done)
  }
}

function openCeiling(ip: string, port: number): (name: string, done: (answer: unknown) => void) => void {
  const waiting = new Map<number, (answer: unknown) => void>()
  const socket: Socket = createSocket('udp4')
  let connected = false
  let id = 0
  const early: Buffer[] = []
  socket.on('message', (message) => {
    const key = message.readUInt16BE(0)
    waiting.get(key)?.('127.0.0.1')
    waiting.delete(key)
  })
  socket.connect(port, ip, () => {
    connected = true
    for (const message of early) socket.send(message)
  })
  return (name, done) => {
    id = (id + 1) & 0xffff
    waiting.set(id, done)
    const message = plainQuery(name)
    message.writeUInt16BE(id, 0)
    if (connected) socket.send(message)
    else early.push(message)
  }
}

function plainQuery(name: string): Buffer {
  const message = Buffer.allocUnsafe(18 + name.length)
  message.write('\0\0\x01\0\0\x01\0\0\0\0\0\0', 'latin1')
  let at = 12
  for (const label of name.split('.')) {
    message[at] = label.length
    message.write(label, at + 1, 'latin1')
    at += 1 + label.length
  }
  message.write('\0\0\x01\0\x01', at, 'latin1')
  return message
}
