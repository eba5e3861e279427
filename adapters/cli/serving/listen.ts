import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Starts listening and returns the base URL, such as `http://127.0.0.1:3000`. */
export async function listen(server: Server, port: number, host: string): Promise<string> {
  try {
    server.listen(port, host)
    await once(server, 'listening')
  } catch (error) {
    const taken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
    const message = taken
      ? `Port ${port} is in use. Choose another with --port.`
      : `Cannot listen on ${host}: ${(error as Error).message}`
    throw new Error(message, { cause: error })
  }
  return baseUrl(server.address() as AddressInfo)
}

function baseUrl({ address, family, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}
