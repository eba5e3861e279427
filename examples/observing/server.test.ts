import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { trace, SpanStatusCode } from '@opentelemetry/api'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base'
import { createAdmin, createUtilityApi } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { expect, test } from 'vitest'
import { codeBlocks } from '../../test/docs/code-blocks.ts'
import { startExample } from '../../test/package/start-example.ts'
import { traceUtilityApi } from './tracing.ts'

const guide = codeBlocks().filter(({ file }) => file === 'docs/guide/observing.md')
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
    'utility_api_request_duration_seconds_count{operation="generateLicense",status="200",error="",reason=""} 1',
  )
  expect(metrics).toContain('{operation="generateLicense",status="401",error="invalid_token",reason=""} 1')
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
  exporter.reset()
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
  const [whole] = named('utility-api.request')
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
  expect(guide.map(({ text }) => text)).toContain(treeOf(spans).join('\n'))
  expect(() => traceUtilityApi(tracer)).toThrow('before the OpenTelemetry SDK starts')
})

/** A line for each span, below its parent's. */
function treeOf(spans: readonly ReadableSpan[], parent?: ReadableSpan, indent = ''): string[] {
  const id = parent?.spanContext().spanId
  return spans
    .filter(({ parentSpanContext }) => parentSpanContext?.spanId === id)
    .flatMap((span) => {
      const { 'db.operation.name': method, 'utility_api.operation': attribute = method } = span.attributes
      const line = attribute === undefined ? span.name : `${span.name} (${attribute})`
      return [indent + line, ...treeOf(spans, span, `${indent}  `)]
    })
}

const hosts = join(import.meta.dirname, '../../test/hosts')

test.skipIf(!existsSync(join(hosts, 'node_modules/winston'))).each(['pino', 'winston'])(
  'by the program of the guide, %s prints what a cause says',
  (name) => {
    const program = guide.find(({ text }) => text.includes(name))?.text ?? ''
    const lines = [
      "import { memoryStorage } from 'utility-api/storage/memory'",
      name === 'winston' ? "import winston from 'winston'" : '',
      'const storage = memoryStorage()',
      program,
      "logger.error('The database failed.', { cause: new Error('The disk is full.') })",
    ]
    const args = ['--input-type=module-typescript', '--eval', lines.join('\n')]
    const { stdout } = spawnSync(process.execPath, args, { cwd: hosts, encoding: 'utf8' })
    expect(stdout).toMatch(/^\{.*"The database failed\.".*\}\n$/)
    expect(stdout).toContain('The disk is full.')
  },
)
