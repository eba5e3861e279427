import { SpanStatusCode } from '@opentelemetry/api'
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

test('the spans of a request form one tree and name what failed', async () => {
  const exporter = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  traceUtilityApi(provider.getTracer('test'))
  const storage = memoryStorage()
  const { token } = await createAdmin({ storage }).createReseller()
  const broken = { ...storage, insertLicense: () => Promise.reject(new Error('down')) }
  const headers = { Authorization: `Bearer ${token}`, ...fields }
  const request = new Request('http://localhost/v2/reseller/licenses/generate', { method: 'POST', headers })
  expect((await createUtilityApi({ storage: broken }).fetch(request)).status).toBe(500)

  const [identify, insert, whole] = exporter.getFinishedSpans()
  expect(identify).toMatchObject({
    attributes: { method: 'findCredential' },
    status: { code: SpanStatusCode.UNSET },
  })
  expect(insert).toMatchObject({
    attributes: { method: 'insertLicense' },
    status: { code: SpanStatusCode.ERROR },
  })
  expect(whole).toMatchObject({
    name: 'utility-api.request',
    attributes: { operation: 'generateLicense', method: 'POST', status: 500, errorCode: 'database_error' },
    status: { code: SpanStatusCode.ERROR },
  })
  for (const span of [identify, insert]) {
    expect(span?.parentSpanContext?.spanId).toBe(whole?.spanContext().spanId)
    expect(span?.spanContext().traceId).toBe(whole?.spanContext().traceId)
  }
})
