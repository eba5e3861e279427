import type { AnyOperation } from '../operations/operation.ts'
import { requestIdOf, type RequestTraceEvent } from './hooks.ts'
import type { RequestContext, RequestLike } from './messages.ts'
import type { Route } from './router.ts'

/** A request on its way, and what becomes known about it. */
export interface Passage {
  readonly request: RequestLike
  readonly context: RequestContext
  /** Null when no operation has the path. */
  readonly operation: AnyOperation | null
  readonly params: Readonly<Record<string, string>>
  /** Filled in on the way; whole at the end. */
  readonly event: { -readonly [Field in keyof RequestTraceEvent]: RequestTraceEvent[Field] }
}

export function passageOf(request: RequestLike, context: RequestContext, route: Route | null): Passage {
  const operation = route?.operation ?? null
  return {
    request,
    context,
    operation,
    params: context.params ?? route?.params ?? {},
    event: {
      ...(operation !== null && { operation: operation.id }),
      method: request.method,
      requestId: requestIdOf(request, context),
    },
  }
}
