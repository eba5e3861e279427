import { createServer } from 'node:net'

/**
 * A free port for a server that listens a while later, below those that the system gives out: what others open meanwhile
 * would take one of these.
 */
export async function freePort(): Promise<number> {
  const port = 10_000 + Math.floor(Math.random() * 20_000)
  return (await isFree(port)) ? port : freePort()
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
