import { trace, SpanStatusCode } from '@opentelemetry/api'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { createAdmin, createUtilityApi } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { expect, test } from 'vitest'
import { startExample } from '../../test/package/start-example.ts'
import { traceUtilityApi } from './tracing.ts'

const fields = { 'X-Registered-To': 'Ada', 'X-Domain-Or-IP': 'shop.example', 'X-Status': 'valid' }

test('it logs, counts and traces its requests', async () => {
  const example = await startExample('observing')
  await expect.poll(example.output).toContain('X-Status')
  const token = /Bearer (\S+)'/.exec(example.output())?.[1]
  const headers = { Authorization: `Bearer ${token}`, ...fields }
  await fetch(`${example.url}/v2/reseller/licenses/generate`, { method: 'POST', headers })
  await fetch(`${example.url}/v2/reseller/licenses/generate`, { method: 'POST' })
  expect(await (await fetch(`${example.url}/health`)).json()).toStrictEqual({ storage: 'ok' })
  const metrics = await (await fetch(`${example.url}/metrics`)).text()
  expect(metrics).toContain(
    'utility_api_request_duration_seconds_count{operation="generateLicense",status="200",error=""} 1',
  )
  expect(metrics).toContain('{operation="generateLicense",status="401",error="invalid_token"} 1')
  await expect.poll(example.output).toContain('"code":"invalid_token"')
  await expect.poll(example.output).toContain(`name: 'utility-api.storage'`)
  expect(await example.stop()).toBe(0)
})

test('the spans of a server, a request, its storage calls and its driver form one tree that names what failed', async () => {
  const exporter = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  const tracer = provider.getTracer('test')
  traceUtilityApi(tracer)
  const storage = memoryStorage()
  const { token } = await createAdmin({ storage }).createReseller()
  // As instrumentations of a driver and of a server do.
  const insertLicense = async (): Promise<never> => {
    await tracer.startActiveSpan('driver', async (span) => span.end())
    throw new Error('down')
  }
  const api = createUtilityApi({ storage: { ...storage, insertLicense } })
  const headers = { Authorization: `Bearer ${token}`, ...fields }
  const request = new Request('http://localhost/v2/reseller/licenses/generate', { method: 'POST', headers })
  await tracer.startActiveSpan('server', async (span) => {
    expect((await api.fetch(request)).status).toBe(500)
    span.end()
  })
  expect(trace.getActiveSpan()).toBeUndefined()

  const spans = exporter.getFinishedSpans()
  const named = (name: string) => spans.filter((span) => span.name === name)
  const [identify, insert] = named('utility-api.storage')
  const [driver, whole, server] = ['driver', 'utility-api.request', 'server'].flatMap(named)
  expect(identify).toMatchObject({
    attributes: { 'db.operation.name': 'findCredential' },
    status: { code: SpanStatusCode.UNSET },
  })
  expect(insert).toMatchObject({
    attributes: { 'db.operation.name': 'insertLicense' },
    status: { code: SpanStatusCode.ERROR },
  })
  expect(whole).toMatchObject({
    attributes: {
      'utility_api.operation': 'generateLicense',
      'http.request.method': 'POST',
      'http.response.status_code': 500,
      'error.type': 'database_error',
    },
    status: { code: SpanStatusCode.ERROR },
  })
  const parents = [identify, insert, driver, whole].map((span) => span?.parentSpanContext?.spanId)
  const [wholeId, insertId, serverId] = [whole, insert, server].map((span) => span?.spanContext().spanId)
  expect(parents).toEqual([wholeId, wholeId, insertId, serverId])
  expect(new Set(spans.map((span) => span.spanContext().traceId)).size).toBe(1)
})
