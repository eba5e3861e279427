import type { Credential } from '../domain/access.ts'
import { UtilityApiError } from '../domain/errors.ts'
import type { AnyOperation, CredentialSecurity, OperationId, Security } from '../operations/operation.ts'
import { trace } from '../operations/tracing.ts'
import type { Clock } from '../ports/clock.ts'
import type { Logger } from '../ports/logger.ts'
import type { RateLimiter } from '../ports/rate-limiter.ts'
import type { UtilityStorage } from '../ports/storage.ts'
import { identify, presentedSecret } from './credentials.ts'
import { createGate } from './gate.ts'
import { harmless, type RequestEndEvent } from './hooks.ts'
import { inputReader, noFields, type InputReader } from './input.ts'
import type { Reply, RequestContext, RequestLike } from './messages.ts'
import { openApiDocument, type OpenApiDocument } from './openapi.ts'
import { passageOf, type Passage } from './passage.ts'
import { limitWith } from './rate-limit.ts'
import { refusalsOf } from './refusal.ts'
import { emptyReply, jsonReply, publicError, unroutedReply, withoutBody } from './reply.ts'
import { dropBody, render, viewOf } from './render.ts'
import { allowedMethods, cacheHeaders, createRouter, isAllowed, type Route } from './router.ts'

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

export function serveOperations(parts: ServiceParts): UtilityApi {
  const { operations, storage, clock, logger } = parts
  const route = createRouter(operations, parts.basePath)
  const readers = new Map<AnyOperation, InputReader>(operations.map((each) => [each, inputReader(each)]))
  const gate = createGate(parts.maxInFlight)
  const limit = parts.rateLimiter && limitWith(parts.rateLimiter, logger)
  const refuse = refusalsOf(parts)
  const closing = new AbortController()

  async function serve(request: RequestLike, context: RequestContext, found: Route | null): Promise<Reply> {
    if (found === null && context.fallthrough === true) return unroutedReply()
    const passage = passageOf(request, context, found)
    const reply = await trace(
      'request',
      () => passage.event,
      () => respond(passage),
    )
    return request.method === 'HEAD' ? withoutBody(reply) : reply
  }

  async function respond(passage: Passage): Promise<Reply> {
    const { event } = passage
    const started = performance.now()
    let reply: Reply
    try {
      reply = await answer(passage)
    } catch (thrown) {
      const error = await limitFailures(publicError(thrown), passage)
      event.errorCode = error.code
      reply = refuse(error, passage)
    }
    reply.headers['X-Request-Id'] = event.requestId
    event.status = reply.status
    event.durationMs = performance.now() - started
    report(event as RequestEndEvent)
    return reply
  }

  function report(event: RequestEndEvent): void {
    if (parts.onRequestEnd === undefined) return
    harmless(
      () => parts.onRequestEnd?.(event),
      (cause) => logger.error('onRequestEnd failed.', { requestId: event.requestId, cause }),
    )
  }

  async function answer(passage: Passage): Promise<Reply> {
    const { operation, request } = passage
    if (operation === null) throw new UtilityApiError('not_found', 'There is nothing at this path.')
    if (request.method === 'OPTIONS') return emptyReply({ Allow: allowedMethods(operation) })
    if (!isAllowed(request.method, operation)) {
      throw new UtilityApiError(
        'method_not_allowed',
        `The method must be one of ${allowedMethods(operation)}.`,
      )
    }
    return jsonReply(200, await perform(operation, passage), cacheHeaders(operation))
  }

  /** Credentials, then input, then work: a caller without credentials learns nothing about validation. */
  async function perform(operation: AnyOperation, passage: Passage): Promise<unknown> {
    const { security } = operation
    const { request, params } = passage
    const reader = readers.get(operation) as InputReader
    // Before the gate: whoever sends a body slowly would keep a place that others need.
    const body = reader.body === null ? noFields : await reader.body(request)
    gate.enter(operation)
    try {
      const caller = security.kind === 'client' ? null : await identifyCaller(security, passage)
      return await run(operation, passage, caller, reader.input(request, params, body))
    } finally {
      gate.leave(operation)
    }
  }

  async function identifyCaller(security: CredentialSecurity, passage: Passage): Promise<Credential> {
    const caller = await identify(security, presentedSecret(security, passage.request), storage, clock)
    const admitted = identified(security, passage, caller.ownerId)
    if (admitted !== undefined) await admitted
    return caller
  }

  /** Notes who asks, and counts the request against their limit where there is one. */
  function identified({ kind }: Security, { event }: Passage, callerId: string): Promise<void> | undefined {
    event.callerId = callerId
    return limit?.(`${kind}:${callerId}`)
  }

  async function run(
    operation: AnyOperation,
    passage: Passage,
    caller: Credential | null,
    input: unknown,
  ): Promise<unknown> {
    const signal = operation.waitsFor === 'network' ? signalOf(passage) : closing.signal
    try {
      return await operation.run(input as never, {
        caller,
        signal,
        identified: async (callerId) => identified(operation.security, passage, callerId),
      })
    } catch (error) {
      if (!signal.aborted || error instanceof UtilityApiError) throw error
      throw new UtilityApiError('unavailable', 'The request was given up.', {
        cause: error,
        retryAfterSeconds: 1,
      })
    }
  }

  function signalOf({ context, request }: Passage): AbortSignal {
    const gone = context.signal ?? request.signal
    return gone === undefined ? closing.signal : AbortSignal.any([gone, closing.signal])
  }

  /** Counts failed credentials against their sender's address, so that guessing has an end. */
  async function limitFailures(error: UtilityApiError, { context }: Passage): Promise<UtilityApiError> {
    if (limit === undefined || context.ip === undefined) return error
    if (error.status !== 401 || error.code === 'license_owner_mismatch') return error
    return limit(`address:${context.ip}`).then(
      () => error,
      (limited: unknown) => publicError(limited),
    )
  }

  async function close(): Promise<void> {
    await gate.close(parts.drainTimeoutMs)
    closing.abort()
    await parts.closeClients()
  }

  const dispatch = (request: RequestLike, context: RequestContext = {}): Promise<Reply> =>
    serve(request, context, route(request.url))

  async function respondTo(
    request: Request,
    context: RequestContext,
    found: Route | null,
  ): Promise<Response> {
    const reply = await serve(viewOf(request), context, found)
    dropBody(request)
    return render(reply)
  }

  function handlerOf(id: OperationId): Handler {
    const operation = operations.find((each) => each.id === id)
    return (request, context = {}) => {
      const found = route(request.url)
      const own =
        operation === undefined
          ? null
          : { operation, params: found?.operation === operation ? found.params : {} }
      return respondTo(request, context, own)
    }
  }

  return {
    fetch: (request, context = {}) => respondTo(request, context, route(request.url)),
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
