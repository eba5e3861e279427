import { UtilityApiError } from '../domain/errors.ts'
import type { AnyOperation, OperationContext, OperationId } from '../operations/operation.ts'
import type { Clock } from '../ports/clock.ts'
import type { Logger } from '../ports/logger.ts'
import type { RateLimiter } from '../ports/rate-limiter.ts'
import type { UtilityStorage } from '../ports/storage.ts'
import { challengeOf, identify, presentedSecret } from './credentials.ts'
import { createGate } from './gate.ts'
import { logError, requestIdOf, type RequestEndEvent } from './hooks.ts'
import { inputReader, type InputReader } from './input.ts'
import type { Reply, RequestContext, RequestLike } from './messages.ts'
import { openApiDocument, type OpenApiDocument } from './openapi.ts'
import { emptyReply, errorBody, jsonReply, publicError, withoutBody } from './reply.ts'
import { render, viewOf } from './render.ts'
import { createRouter, type Route } from './router.ts'

/**
 * Answers a standard `Request`. Never rejects.
 *
 * @group Operation
 */
export type Handler = (request: Request, context?: RequestContext) => Promise<Response>

/**
 * The five operations, ready to be mounted. No method uses `this`.
 *
 * @group Operation
 */
export interface UtilityApi {
  /** Answers any request: routes all five operations, and 404 or 405 what is none. */
  readonly fetch: Handler
  /**
   * The operations one by one, for hosts that route by themselves: the path is not looked at, but for
   * `context.params.license_key`, which `updateLicense` reads from its own path where the host does not say it.
   */
  readonly handlers: Readonly<Record<OperationId, Handler>>
  /** What `fetch` does, on a thin view of the request and as a plain record: for authors of mounts. Never rejects. */
  readonly dispatch: (request: RequestLike, context?: RequestContext) => Promise<Reply>
  /** The OpenAPI 3.1 document of the operations that are switched on. */
  readonly openapi: () => OpenApiDocument
  /** Tells whether storage answers. */
  readonly health: () => Promise<{ storage: 'ok' | 'failed' }>
  /**
   * Refuses new work with 503, waits for what is under way, and closes the network clients this library opened. The
   * host's server and database stay open. Waits at most for the longest deadline configured.
   */
  readonly close: () => Promise<void>
  /** The same as `close`. */
  readonly [Symbol.asyncDispose]: () => Promise<void>
}

/** All that serving the operations takes. */
export interface ServiceParts {
  readonly operations: readonly AnyOperation[]
  readonly storage: Required<UtilityStorage>
  readonly clock: Clock
  readonly basePath: string
  readonly maxInFlight: number
  readonly rateLimiter: RateLimiter | undefined
  readonly logger: Logger
  readonly onRequestEnd: ((event: RequestEndEvent) => void) | undefined
  readonly errorBody: ((error: UtilityApiError, context: { requestId: string }) => unknown) | undefined
  /** How long `close` waits for requests under way. */
  readonly drainTimeoutMs: number
  closeClients(): Promise<void>
}

/** A request on its way, and what becomes known about it. */
interface Passage {
  readonly request: RequestLike
  readonly context: RequestContext
  readonly operation: AnyOperation | null
  readonly params: Readonly<Record<string, string>>
  readonly requestId: string
  callerId?: string
}

export function serveOperations(parts: ServiceParts): UtilityApi {
  const { operations, storage, clock, logger } = parts
  const route = createRouter(operations, parts.basePath)
  const readers = new Map<AnyOperation, InputReader>(operations.map((each) => [each, inputReader(each)]))
  const gate = createGate(parts.maxInFlight)
  const closing = new AbortController()

  async function serve(request: RequestLike, context: RequestContext, found: Route | null): Promise<Reply> {
    const started = performance.now()
    const passage: Passage = {
      request,
      context,
      operation: found?.operation ?? null,
      params: context.params ?? found?.params ?? {},
      requestId: requestIdOf(request, context),
    }
    let reply: Reply
    let errorCode: string | undefined
    try {
      reply = await answer(passage)
    } catch (thrown) {
      const error = await limitFailures(publicError(thrown), passage)
      errorCode = error.code
      reply = refuse(error, passage)
    }
    reply.headers['X-Request-Id'] = passage.requestId
    report(passage, reply.status, errorCode, performance.now() - started)
    return request.method === 'HEAD' ? withoutBody(reply) : reply
  }

  async function answer(passage: Passage): Promise<Reply> {
    const { operation, request } = passage
    if (operation === null) throw new UtilityApiError('not_found', 'There is nothing at this path.')
    if (request.method === 'OPTIONS') return emptyReply({ Allow: allowedMethods(operation) })
    if (!allowedMethods(operation).split(', ').includes(request.method)) {
      throw new UtilityApiError(
        'method_not_allowed',
        `The method must be one of ${allowedMethods(operation)}.`,
      )
    }
    const leave = gate.enter(operation)
    try {
      return jsonReply(200, await perform(operation, passage), cacheHeaders(operation))
    } finally {
      leave()
    }
  }

  /** Credentials, then input, then work: a caller without credentials learns nothing about validation. */
  async function perform(operation: AnyOperation, passage: Passage): Promise<unknown> {
    const { security } = operation
    const { request } = passage
    const identified = (callerId: string): Promise<void> => {
      passage.callerId = callerId
      return limit(`${security.kind}:${callerId}`)
    }
    const caller =
      security.kind === 'client'
        ? null
        : await identify(security, presentedSecret(security, request), storage, clock)
    if (caller !== null) await identified(caller.ownerId)
    const input = await readers.get(operation)?.(request, passage.params)
    const signal = operation.waitsFor === 'network' ? signalOf(passage) : closing.signal
    return runUnlessAborted(operation, input as never, { caller, signal, identified })
  }

  function signalOf({ context, request }: Passage): AbortSignal {
    const gone = context.signal ?? request.signal
    return gone === undefined ? closing.signal : AbortSignal.any([gone, closing.signal])
  }

  async function limit(key: string): Promise<void> {
    const decision = await parts.rateLimiter?.consume(key).catch((cause: unknown) => {
      logger.warn('The rate limiter failed; the request goes on.', { cause })
      return { allowed: true } as const
    })
    if (decision === undefined || decision.allowed) return
    throw new UtilityApiError('too_many_requests', 'Too many requests.', {
      retryAfterSeconds: decision.retryAfterSeconds,
    })
  }

  /** Counts failed credentials against their sender's address, so that guessing has an end. */
  async function limitFailures(error: UtilityApiError, { context }: Passage): Promise<UtilityApiError> {
    if (error.status !== 401 || error.code === 'license_owner_mismatch' || context.ip === undefined)
      return error
    return limit(`address:${context.ip}`).then(
      () => error,
      (limited: unknown) => publicError(limited),
    )
  }

  function refuse(error: UtilityApiError, { operation, request, requestId }: Passage): Reply {
    logError(logger, error, { requestId, operation: operation?.id })
    const challenge = operation === null ? null : challengeOf(error, operation.security, request)
    const reply = jsonReply(error.status, bodyOf(error, operation, requestId), {
      ...(challenge !== null && { 'WWW-Authenticate': challenge }),
      ...(error.retryAfterSeconds !== undefined && {
        'Retry-After': String(Math.ceil(error.retryAfterSeconds)),
      }),
      ...(error.code === 'method_not_allowed' && operation !== null && { Allow: allowedMethods(operation) }),
      ...(operation !== null && cacheHeaders(operation)),
    })
    return operation === null ? { ...reply, unrouted: true } : reply
  }

  function bodyOf(error: UtilityApiError, operation: AnyOperation | null, requestId: string): unknown {
    if (parts.errorBody === undefined || operation?.security.kind === 'client')
      return errorBody(error, operation)
    try {
      return parts.errorBody(error, { requestId })
    } catch (cause) {
      logger.error('errorBody failed; the standard body is sent.', { requestId, cause })
      return errorBody(error, operation)
    }
  }

  function report(
    { operation, request, requestId, callerId }: Passage,
    status: number,
    errorCode: string | undefined,
    durationMs: number,
  ): void {
    if (parts.onRequestEnd === undefined) return
    try {
      parts.onRequestEnd({
        ...(operation !== null && { operation: operation.id }),
        method: request.method,
        status,
        ...(errorCode !== undefined && { errorCode }),
        durationMs,
        requestId,
        ...(callerId !== undefined && { callerId }),
      })
    } catch (cause) {
      logger.error('onRequestEnd failed.', { requestId, cause })
    }
  }

  async function close(): Promise<void> {
    await gate.close(parts.drainTimeoutMs)
    closing.abort()
    await parts.closeClients()
  }

  const dispatch = (request: RequestLike, context: RequestContext = {}): Promise<Reply> =>
    serve(request, context, route(request.url))

  function handlerOf(id: OperationId): Handler {
    const operation = operations.find((each) => each.id === id)
    return async (request, context = {}) => {
      const found = route(request.url)
      const own =
        operation === undefined
          ? null
          : { operation, params: found?.operation === operation ? found.params : {} }
      return render(await serve(viewOf(request), context, own))
    }
  }

  return {
    fetch: async (request, context) => render(await dispatch(viewOf(request), context)),
    handlers: {
      exchangeToken: handlerOf('exchangeToken'),
      updateLicense: handlerOf('updateLicense'),
      generateLicense: handlerOf('generateLicense'),
      checkDns: handlerOf('checkDns'),
      lookUpGameServer: handlerOf('lookUpGameServer'),
    },
    dispatch,
    openapi: () =>
      openApiDocument(operations, {
        basePath: parts.basePath,
        ownErrorBodies: parts.errorBody !== undefined,
      }),
    async health() {
      try {
        await storage.ping()
        return { storage: 'ok' }
      } catch (error) {
        logger.error('The storage does not answer.', { cause: (error as Error).cause })
        return { storage: 'failed' }
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

function allowedMethods({ method }: AnyOperation): string {
  return method === 'GET' ? 'GET, HEAD, OPTIONS' : `${method}, OPTIONS`
}

/** @see RFC 6749 section 5.1 */
function cacheHeaders({ security }: AnyOperation): Record<string, string> {
  return security.kind === 'client' ? { 'Cache-Control': 'no-store' } : {}
}

async function runUnlessAborted(
  operation: AnyOperation,
  input: never,
  context: OperationContext,
): Promise<unknown> {
  try {
    return await operation.run(input, context)
  } catch (error) {
    if (!context.signal.aborted || error instanceof UtilityApiError) throw error
    throw new UtilityApiError('unavailable', 'The request was given up.', { cause: error })
  }
}
