// OpenTelemetry spans from the tracing channels: one for each request, and inside it one for each storage call and each
// query to a resolver or a game server.
import { AsyncLocalStorage } from 'node:async_hooks'
import { tracingChannel } from 'node:diagnostics_channel'
import { ROOT_CONTEXT, SpanStatusCode, trace, type Span, type Tracer } from '@opentelemetry/api'

/** What the channels' events may contain. */
interface Event {
  span?: Span
  status?: number
  error?: unknown
}

const current = new AsyncLocalStorage<Event>()

export function traceUtilityApi(tracer: Tracer): void {
  for (const name of ['request', 'storage', 'dns', 'blockgame']) {
    const channel = tracingChannel<Event, Event>(`utility-api.${name}`)
    channel.start.bindStore(current, (event) => {
      const parent = current.getStore()?.span
      const context = parent === undefined ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, parent)
      event.span = tracer.startSpan(`utility-api.${name}`, { attributes: attributesOf(event) }, context)
      return event
    })
    channel.asyncEnd.subscribe((message) => {
      const event = message as Event
      event.span?.setAttributes(attributesOf(event))
      const failed = event.error !== undefined || (event.status ?? 0) >= 500
      if (failed) event.span?.setStatus({ code: SpanStatusCode.ERROR })
      event.span?.end()
    })
  }
}

/** Returns everything in an event that can be an attribute: the operation, status, caller id and so on. */
function attributesOf(event: object): Record<string, string | number> {
  return Object.fromEntries(
    Object.entries(event).filter(([, value]) => typeof value === 'string' || typeof value === 'number'),
  )
}
