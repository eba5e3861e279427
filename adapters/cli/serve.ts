import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createUtilityApi } from 'utility-api'
import { command, integer, oneOf, type AnyCommand } from './command.ts'
import { databaseOption, openDatabase } from './database.ts'
import { logFormats, requestLog } from './request-log.ts'
import { createService } from './service.ts'

export const serve: AnyCommand = command({
  description: 'Serve the five operations over HTTP until Ctrl-C or SIGTERM.',
  args: {
    port: { type: 'string', default: '3000', valueHint: 'PORT', description: 'TCP port; 0: a free one.' },
    host: {
      type: 'string',
      default: '127.0.0.1',
      valueHint: 'ADDRESS',
      description: 'Address to listen on.',
    },
    prefix: { type: 'string', valueHint: 'PATH', description: 'Where the paths begin, such as /api.' },
    'trust-proxy': {
      type: 'string',
      default: '0',
      valueHint: 'N',
      description: 'How many proxies of yours stand before it: whose X-Forwarded-For is believed.',
    },
    log: {
      type: 'string',
      default: 'line',
      valueHint: logFormats.join('|'),
      description: 'One line for each request, for people or as JSON; errors are always logged.',
    },
    openapi: {
      type: 'boolean',
      default: true,
      description: 'Serve /openapi.json.',
      negativeDescription: 'Do not serve /openapi.json.',
    },
    drain: {
      type: 'string',
      default: '10',
      valueHint: 'SECONDS',
      description: 'How long SIGTERM lets requests under way take; /health says 503 from its start.',
    },
    ...databaseOption,
  },
  examples: [
    'serve --database utility.sqlite',
    'serve --port 8080 --host 0.0.0.0 --prefix /api    # with UTILITY_API_DATABASE=postgres://…',
    'serve --host 0.0.0.0 --trust-proxy 1 --log json --drain 20',
  ],
  async run({ port, host, prefix = '', log, openapi, drain, database, ...args }) {
    const wanted = integer('port', port, 0, 65_535)
    const trustProxy = integer('trust-proxy', args['trust-proxy'], 0, 100)
    const drainMs = integer('drain', drain, 0, 3600) * 1000
    const watcher = requestLog(oneOf('log', log, logFormats))
    const { storage, close } = await openDatabase(database)
    try {
      await storage.findClient('', { timeLeftMs: () => 5000 })
      await using api = createUtilityApi({ storage, basePath: prefix, ...watcher.options })
      const service = createService(watcher.watch(api), { prefix, trustProxy, openapi })
      const stop = stopSignal()
      await listen(service.server, wanted, host)
      console.log(`Listening on ${baseUrl(service.server)}${prefix}`)
      await stop
      console.error(`Stopping within ${drain} s.`)
      endBy(drainMs + lastWritesMs)
      await service.drain(drainMs)
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

/** The first of the two; a second one ends the process at once, as it does by itself. */
function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    const stop = (): void => {
      process.off('SIGINT', stop).off('SIGTERM', stop)
      resolve()
    }
    process.on('SIGINT', stop).on('SIGTERM', stop)
  })
}

/** How long writes that nobody waits for any more may still take. */
const lastWritesMs = 7000

/** A database that hangs must not keep the process. */
function endBy(milliseconds: number): void {
  setTimeout(() => process.exit(1), milliseconds).unref()
}
