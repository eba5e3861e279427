import { isTraced, trace } from '../operations/tracing.ts'
import type { Logger } from '../ports/logger.ts'
import { harmless, type RequestEndEvent, type RequestTraceEvent } from './hooks.ts'
import type { Reply } from './messages.ts'
import type { Passage } from './passage.ts'

export interface ObserverParts {
  readonly logger: Logger
  readonly onRequestEnd: ((event: RequestEndEvent) => void) | undefined
}

/** Answers a request, and tells of it. */
export type Observer = (passage: Passage, answer: () => Promise<Reply>) => Promise<Reply>

/** Makes what tells of a request to whoever wants to know: the tracing channel and `onRequestEnd`. */
export function observerOf({ logger, onRequestEnd }: ObserverParts): Observer {
  return (passage, answer) => {
    if (onRequestEnd === undefined && !isTraced('request')) return answer()

    const started = performance.now()
    const { operation, request, requestId } = passage
    const event: RequestTraceEvent = {
      ...(operation !== null && { operation: operation.id }),
      method: request.method,
      requestId,
    }
    return trace(
      'request',
      () => event,
      async () => {
        const reply = await answer()
        const { callerId, errorCode } = passage
        const end = Object.assign(event, {
          ...(callerId !== undefined && { callerId }),
          ...(errorCode !== undefined && { errorCode }),
          status: reply.status,
          durationMs: performance.now() - started,
        })
        harmless(
          () => onRequestEnd?.(end),
          (cause) => logger.error('onRequestEnd failed.', { requestId, cause }),
        )
        return reply
      },
    )
  }
}
