import type { Credential } from '../domain/access.ts'
import { UtilityApiError } from '../domain/errors.ts'
import { hashSecret } from '../domain/secret.ts'
import type { AnyOperation, OperationId, Security } from '../operations/operation.ts'
import type { Clock } from '../ports/clock.ts'
import type { Logger } from '../ports/logger.ts'
import type { RateLimiter } from '../ports/rate-limiter.ts'
import type { UtilityStorage } from '../ports/storage.ts'
import { accepted, presentedSecret } from './credentials.ts'
import { createGate } from './gate.ts'
import type { RequestEndEvent } from './hooks.ts'
import { inputReader, noFields, type InputReader } from './input.ts'
import type { Reply, RequestContext, RequestLike } from './messages.ts'
import { observerOf } from './observe.ts'
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
  const observe = observerOf(parts)
  const closing = new AbortController()

  function serve(request: RequestLike, context: RequestContext, found: Route | null): Promise<Reply> {
    if (found === null && context.fallthrough === true) return Promise.resolve(unroutedReply())
    const passage = passageOf(request, context, found)
    return observe(passage, () => respond(passage))
  }

  async function respond(passage: Passage): Promise<Reply> {
    let reply: Reply
    try {
      reply = await answer(passage)
    } catch (thrown) {
      const error = await limitFailures(publicError(thrown), passage)
      passage.errorCode = error.code
      reply = refuse(error, passage)
    }
    reply.headers['X-Request-Id'] = passage.requestId
    return passage.request.method === 'HEAD' ? withoutBody(reply) : reply
  }

  /** Credentials, then input, then work: a caller without credentials learns nothing about validation. */
  async function answer(passage: Passage): Promise<Reply> {
    const { request, params } = passage
    const operation = operationOf(passage)
    if (request.method === 'OPTIONS') return emptyReply({ Allow: allowedMethods(operation) })
    const { security } = operation
    const reader = readers.get(operation) as InputReader
    // Before the gate: whoever sends a body slowly would keep a place that others need.
    const body = reader.body === null ? noFields : await reader.body(request)
    gate.enter(operation)
    let signal = closing.signal
    try {
      let caller: Credential | null = null
      if (security.kind !== 'client') {
        const hash = hashSecret(presentedSecret(security, request))
        caller = accepted(await storage.findCredential(security.kind, hash), security, clock.now())
        const admitted = identified(security, passage, caller.ownerId)
        if (admitted !== undefined) await admitted
      }
      const input = reader.input(request, params, body)
      if (operation.waitsFor === 'network') signal = signalOf(passage)
      const output = await operation.run(input as never, {
        caller,
        signal,
        identified: async (callerId) => identified(security, passage, callerId),
      })
      return jsonReply(200, output, cacheHeaders(operation))
    } catch (error) {
      throw signal.aborted ? givenUp(error) : error
    } finally {
      gate.leave(operation)
    }
  }

  /** Notes who asks, and counts the request against their limit where there is one. */
  function identified({ kind }: Security, passage: Passage, callerId: string): Promise<void> | undefined {
    passage.callerId = callerId
    return limit?.(`${kind}:${callerId}`)
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

/** The operation a request is for. Throws `not_found` or `method_not_allowed`. */
function operationOf({ operation, request: { method } }: Passage): AnyOperation {
  if (operation === null) throw new UtilityApiError('not_found', 'There is nothing at this path.')
  if (method === 'OPTIONS' || isAllowed(method, operation)) return operation
  throw new UtilityApiError('method_not_allowed', `The method must be one of ${allowedMethods(operation)}.`)
}

function givenUp(cause: unknown): UtilityApiError {
  if (cause instanceof UtilityApiError) return cause
  return new UtilityApiError('unavailable', 'The request was given up.', { cause, retryAfterSeconds: 1 })
}
