// Logs, metrics and traces: the log as lines of JSON, Prometheus metrics at /metrics, spans on the console.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { BasicTracerProvider, ConsoleSpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { Registry } from 'prom-client'
import { createAdmin, createUtilityApi } from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import { memoryStorage } from 'utility-api/storage/memory'
import { countRequests } from './metrics.ts'
import { traceUtilityApi } from './tracing.ts'

const spans = new BasicTracerProvider({
  spanProcessors: [new SimpleSpanProcessor(new ConsoleSpanExporter())],
})
traceUtilityApi(spans.getTracer('utility-api'))

const write = (level: string) => (message: string, fields?: object) =>
  console.log(JSON.stringify({ level, message, ...fields }, (_, value) => plain(value)))
/** An error's members are not enumerable, and JSON would show `{}`. */
const plain = (value: unknown): unknown =>
  value instanceof Error ? { name: value.name, message: value.message, cause: value.cause } : value

const registry = new Registry()
const storage = memoryStorage()
const api = createUtilityApi({
  storage,
  logger: { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') },
  onRequestEnd: countRequests(registry),
})

const handler = toNodeHandler(api)
const server = createServer(async (request, response) => {
  if (request.url === '/metrics') {
    response.setHeader('Content-Type', registry.contentType).end(await registry.metrics())
  } else if (request.url === '/health') {
    const health = await api.health()
    response.writeHead(health.storage === 'ok' ? 200 : 503).end(JSON.stringify(health))
  } else handler(request, response)
}).listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1')
await once(server, 'listening')
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
console.log(`Listening on ${url}`)

const { token } = await createAdmin({ storage }).createReseller({ name: 'Example Hosting' })
console.log(`curl -X POST ${url}/v2/reseller/licenses/generate -H 'Authorization: Bearer ${token}' \\
  -H 'X-Registered-To: Ada Lovelace' -H 'X-Domain-Or-IP: shop.example' -H 'X-Status: valid'
curl ${url}/metrics`)

await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
server.close()
await api.close()
// Requests to your own pages have ten seconds. A connection that never sent one would stay open forever.
setTimeout(() => server.closeAllConnections(), 10_000).unref()
await spans.shutdown()
