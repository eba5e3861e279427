import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createUtilityApi, type Logger } from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import { command, integer, type AnyCommand } from './command.ts'
import { databaseOption, openDatabase } from './database.ts'

/** Standard output says where it listens; everything after that is a log, and goes to standard error. */
const logger: Logger = {
  debug: () => {},
  info: (message, fields) => console.error('info', message, fields ?? ''),
  warn: (message, fields) => console.error('warn', message, fields ?? ''),
  error: (message, fields) => console.error('error', message, fields ?? ''),
}

export const serve: AnyCommand = command({
  description: 'Serve the five operations over HTTP until Ctrl-C.',
  args: {
    port: { type: 'string', default: '3000', valueHint: 'PORT', description: 'TCP port; 0: a free one.' },
    host: {
      type: 'string',
      default: '127.0.0.1',
      valueHint: 'ADDRESS',
      description: 'Address to listen on.',
    },
    prefix: { type: 'string', valueHint: 'PATH', description: 'Where the paths begin, such as /api.' },
    ...databaseOption,
  },
  examples: [
    'serve --database utility.sqlite',
    'serve --port 8080 --host 0.0.0.0 --prefix /api    # with UTILITY_API_DATABASE=postgres://…',
  ],
  async run({ port, host, prefix = '', database }) {
    const wanted = integer('port', port, 0, 65_535)
    const { storage, close } = await openDatabase(database)
    try {
      await storage.findClient('')
      await using api = createUtilityApi({ storage, basePath: prefix, logger })
      const server = createServer(toNodeHandler(api))
      await listen(server, wanted, host)
      console.log(`Listening on ${baseUrl(server)}${prefix}`)
      await interrupted()
      console.error('Stopping.')
      server.close()
      server.closeIdleConnections()
    } finally {
      await close()
    }
  },
})

async function listen(server: Server, port: number, host: string): Promise<void> {
  try {
    server.listen(port, host)
    await once(server, 'listening')
  } catch (error) {
    const taken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
    const message = taken
      ? `Port ${port} is taken. Choose another one with --port.`
      : `Cannot listen on ${host}: ${(error as Error).message}`
    throw new Error(message, { cause: error })
  }
}

function baseUrl(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}

function interrupted(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGINT', resolve).once('SIGTERM', resolve)
  })
}
