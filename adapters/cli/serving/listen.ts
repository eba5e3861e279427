import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The option of every command that listens. */
export const portOption = {
  port: { type: 'string', default: '3000', valueHint: 'PORT', description: 'TCP port; 0 picks a free one.' },
} as const

/** Starts listening and returns the base URL, such as `http://127.0.0.1:3000`. */
export async function listen(server: Server, port: number, host: string): Promise<string> {
  try {
    server.listen(port, host)
    await once(server, 'listening')
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    const known: Readonly<Record<string, string>> = {
      EADDRINUSE: `Port ${port} is in use. Choose another with --port.`,
      EACCES: `Port ${port} needs more rights than yours. Choose one from 1024 on with --port.`,
      EADDRNOTAVAIL: `This machine has no address ${host}. Choose another with --host.`,
    }
    throw new Error(known[code] ?? `Cannot listen on ${host}: ${message}`, { cause: error })
  }
  const { address, family, port: bound } = server.address() as AddressInfo
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`
}
