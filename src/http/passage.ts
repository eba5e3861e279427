import type { ErrorCode } from '../domain/errors.ts'
import type { AnyOperation } from '../operations/operation.ts'
import { requestIdOf } from './hooks.ts'
import type { RequestContext, RequestLike } from './messages.ts'
import type { Route } from './router.ts'

/** A request on its way, and what becomes known about it. */
export interface Passage {
  readonly request: RequestLike
  readonly context: RequestContext
  /** Null when no operation has the path. */
  readonly operation: AnyOperation | null
  readonly params: Readonly<Record<string, string>>
  readonly requestId: string
  /** Who asks, as soon as that is known. */
  callerId: string | undefined
  /** Why it was refused. */
  errorCode: ErrorCode | undefined
}

export function passageOf(request: RequestLike, context: RequestContext, route: Route | null): Passage {
  return {
    request,
    context,
    operation: route?.operation ?? null,
    params: context.params ?? route?.params ?? {},
    requestId: requestIdOf(request, context),
    callerId: undefined,
    errorCode: undefined,
  }
}
