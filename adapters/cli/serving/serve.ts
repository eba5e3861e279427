import type { Server } from 'node:http'
import { createUtilityApi } from 'utility-api'
import { callWithin } from 'utility-api/storage'
import { command, type AnyCommand } from '../terminal/command.ts'
import { databaseOptions, withDatabase } from '../database/database.ts'
import { requestLimits } from '../database/time-limits.ts'
import { createService } from './http-service.ts'
import { licenseOptions, licenseRules } from '../terminal/license-options.ts'
import { listen, portOption } from './listen.ts'
import { integer, oneOf, secondsOf } from '../terminal/option-values.ts'
import { logFormats, requestLog } from './request-log.ts'
import { watchForStop } from '../terminal/stop-signal.ts'

export const serve: AnyCommand = command({
  args: {
    ...portOption,
    host: {
      type: 'string',
      default: '127.0.0.1',
      valueHint: 'ADDRESS',
      description: 'Address to listen on.',
    },
    prefix: { type: 'string', valueHint: 'PATH', description: 'What all paths begin with, such as /api.' },
    'trust-proxy': {
      type: 'string',
      default: '0',
      valueHint: 'N',
      description:
        'How many of your own proxies are in front of the server; their X-Forwarded-For is trusted.',
    },
    log: {
      type: 'string',
      default: 'line',
      valueHint: logFormats.join('|'),
      description: 'One line for each request, for people or as JSON; errors are always logged.',
    },
    'no-openapi': { type: 'boolean', description: 'Do not serve /openapi.json.' },
    drain: {
      type: 'string',
      default: '10',
      valueHint: 'SECONDS',
      description: 'How long requests in progress may take after SIGTERM; /health answers 503 meanwhile.',
    },
    ...licenseOptions,
    ...databaseOptions,
  },
  examples: [
    'serve --database utility.sqlite',
    'serve --port 8080 --host 0.0.0.0 --prefix /api --database postgres://user@host/name',
    'serve --host 0.0.0.0 --trust-proxy 1 --log json --drain 20',
  ],
  async run({ port, host, prefix = '', log, drain, database, storage: module, ...args }) {
    const wanted = integer('port', port, 0, 65_535)
    const trustProxy = integer('trust-proxy', args['trust-proxy'], 0, 100)
    const drainMs = secondsOf('drain', drain, 0, 3600) * 1000
    const licenses = licenseRules(args)
    const openapi = !args['no-openapi']
    const format = oneOf('log', log, logFormats)
    await withDatabase({ database, storage: module, limits: requestLimits }, async (storage, redact) => {
      const watcher = requestLog(format, redact)
      await storage.findClient('', callWithin(5000))
      await using api = createUtilityApi({ storage, basePath: prefix, licenses, ...watcher.options })
      const service = createService(watcher.watch(api), { prefix, trustProxy, openapi })
      using stop = watchForStop()
      const baseUrl = await listen(service.server, wanted, host)
      console.log(`Listening on ${baseUrl}${prefix}`)
      sayConnections(service.server, watcher.say)
      await stop.stopped
      watcher.say(`Stopping within ${drainMs / 1000} s.`)
      endBy(drainMs + lastWritesMs)
      await service.drain(drainMs)
    })
  },
})

/** Says how many connections the server accepts and, at most every 10 seconds, how many it has not kept. */
export function sayConnections(server: Server, say: (message: string) => void): void {
  say(
    `At most ${server.maxConnections} connections at once; 10000 with "ulimit -n 20000" and a heap of 3 GB.`,
  )
  let count = 0
  server.on('drop', () => {
    count += 1
    if (count > 1) return
    const tell = (): void => {
      say(`Ended or turned away in the last 10 s: ${count} connections.`)
      count = 0
    }
    setTimeout(tell, 10_000).unref()
  })
}

/** How long writes that nobody waits for anymore may still take. */
const lastWritesMs = 7000

/** Exits after this time: a database that hangs must not keep the process alive. */
function endBy(milliseconds: number): void {
  setTimeout(() => process.exit(1), milliseconds).unref()
}
