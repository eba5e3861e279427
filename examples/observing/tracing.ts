// OpenTelemetry spans from the tracing channels: one for each request, and inside it one for each storage call and each
// query to a resolver or a game server. What instrumentations of HTTP servers and of database drivers record is in the
// same tree.
import { AsyncLocalStorage } from 'node:async_hooks'
import { tracingChannel } from 'node:diagnostics_channel'
import {
  context,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Context,
  type ContextManager,
  type Span,
  type Tracer,
} from '@opentelemetry/api'

const contexts = new AsyncLocalStorage<Context>()

/** Keeps OpenTelemetry's contexts where the channels can set them. */
const manager: ContextManager = {
  active: () => contexts.getStore() ?? ROOT_CONTEXT,
  with: (given, work, self, ...args) => contexts.run(given, () => work.apply(self, args)),
  bind: (given, target) =>
    typeof target === 'function'
      ? (((...args: unknown[]) => contexts.run(given, () => target(...args) as unknown)) as typeof target)
      : target,
  enable: () => manager,
  disable: () => manager,
}

/** The channels, and the name that OpenTelemetry's conventions give to a member of their events. */
const channels = {
  request: {
    kind: SpanKind.INTERNAL,
    names: { method: 'http.request.method', status: 'http.response.status_code', errorCode: 'error.type' },
  },
  storage: { kind: SpanKind.CLIENT, names: { method: 'db.operation.name' } },
  dns: { kind: SpanKind.CLIENT, names: { server: 'server.address' } },
  blockgame: { kind: SpanKind.CLIENT, names: {} },
} as const

interface Event {
  span?: Span
  status?: number
  error?: unknown
}

/** Call this before the SDK starts, because with its context manager, spans become siblings. */
export function traceUtilityApi(tracer: Tracer): void {
  if (!context.setGlobalContextManager(manager))
    throw new Error('Call traceUtilityApi once, before the OpenTelemetry SDK starts.')
  for (const [name, { kind, names }] of Object.entries(channels)) {
    const channel = tracingChannel<Context, Event>(`utility-api.${name}`)
    channel.start.bindStore(contexts, (event) => {
      event.span = tracer.startSpan(`utility-api.${name}`, { kind, attributes: attributesOf(event, names) })
      return trace.setSpan(context.active(), event.span)
    })
    channel.asyncEnd.subscribe((message) => {
      const event = message as Event
      event.span?.setAttributes(attributesOf(event, names))
      const failed = event.error !== undefined || (event.status ?? 0) >= 500
      if (failed) event.span?.setStatus({ code: SpanStatusCode.ERROR })
      event.span?.end()
    })
  }
}

/** Returns everything in an event that can be an attribute: the operation, status, caller id and so on. */
function attributesOf(
  event: object,
  names: Readonly<Record<string, string>>,
): Record<string, string | number> {
  return Object.fromEntries(
    Object.entries(event)
      .filter(([, value]) => typeof value === 'string' || typeof value === 'number')
      .map(([name, value]) => [names[name] ?? `utility_api.${name}`, value as string | number]),
  )
}
