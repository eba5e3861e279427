import { demand, invalidArgument, isOptions } from '../domain/arguments.ts'
import type { RecordType } from '../domain/dns-record.ts'
import type { CheckDnsInput, DnsCheckResult } from '../operations/check-dns.ts'
import type { GameServerLookup, LookUpGameServerInput } from '../operations/look-up-game-server.ts'
import { operationIds, type Operation, type OperationId } from '../operations/operation.ts'
import { parsedBody, type JsonBody } from '../bounds/shared-answer.ts'
import type { Logger } from '../ports/logger.ts'
import { callWithin } from '../ports/storage-call.ts'
import { setImmediate } from '../ports/timers.ts'
import type { TimedStorage } from '../storage/timed-storage.ts'
import type { LicenseSigning } from '../security/license-signing.ts'
import type { Verifier } from '../security/verifier.ts'
import { Call } from './call.ts'
import type { Closing } from '../bounds/closing.ts'
import { harmless } from './log.ts'
import { openApiDocument, type OpenApiDocument } from './openapi.ts'
import { ownCall, ownCallOptions, type OwnCallOptions } from './own-call.ts'
import { serve, type Endpoint, type Service } from './pipeline.ts'
import { unroutedReply } from './reply.ts'
import type { Reply, RequestContext, RequestLike } from './request-like.ts'
import { createRouter, nearMissOf, noParams, type Route } from './router.ts'
import { toResponse, WebRequest } from './web.ts'

/**
 * Answers a standard `Request`. Rejects only if its argument is anything else (`invalid_argument`).
 *
 * @group Operation
 */
export type Handler = (request: Request, context?: RequestContext) => Promise<Response>

/**
 * The five operations for your server to mount, calls that verify tokens and keys, and the signing of licenses. No method
 * uses `this`.
 *
 * @group Operation
 */
export interface UtilityApi extends Verifier, LicenseSigning {
  /** Answers any request: routes the five operations, and answers everything else with 404 or 405. */
  readonly fetch: Handler
  /**
   * The operations one by one, for hosts that do their own routing. The path is ignored, with one exception.
   * `updateLicense` reads the license key from its own path if the host does not pass `context.params.license_key`.
   */
  readonly handlers: {
    /** Answers `POST /v4/oauth2/token`. */
    readonly exchangeToken: Handler
    /** Answers `PUT /v2/reseller/{license_key}/update`. */
    readonly updateLicense: Handler
    /** Answers `POST /v2/reseller/licenses/generate`. */
    readonly generateLicense: Handler
    /** Answers `GET /v3/tools/dnscheck`. */
    readonly checkDns: Handler
    /** Answers `GET /v4/games/blockgame/lookup`. */
    readonly lookUpGameServer: Handler
  }
  /**
   * Does what `fetch` does, but takes a thin view of the request and returns a plain record, for authors of mounts.
   * Rejects only if its argument is anything else (`invalid_argument`).
   */
  readonly dispatch: (request: RequestLike, context?: RequestContext) => Promise<Reply>
  /**
   * Checks a domain within the program, with the validation, limits, cache and errors of the operation. No token is needed,
   * and no rate limiter is asked.
   *
   * @param question - `domain` as people write it; `recordType` is one of the twelve, in upper or lower case.
   *
   * @param options - `onAnswer` is called with each location's element as it arrives, and its position; also with those of an
   * answer from the cache. What it throws is logged.
   *
   * @throws `UtilityApiError` `invalid_request` (400), `unavailable` (503), `not_found` (404) if the check is switched off;
   * the signal's reason if that aborts
   *
   * @example
   * ```ts
   * const results = await api.checkDns({ domain: 'example.com', recordType: 'A' }, { caller: user.id })
   * ```
   */
  readonly checkDns: (
    question: { readonly domain: string; readonly recordType: RecordType | Lowercase<RecordType> },
    options?: OwnCallOptions & {
      readonly onAnswer?: ((result: DnsCheckResult, position: number) => void) | undefined
    },
  ) => Promise<DnsCheckResult[]>
  /**
   * Looks up a game server within the program, with the validation, limits, cache and errors of the operation. No API key
   * is needed, and no rate limiter is asked.
   *
   * @param server - `address` is a domain or IP address, also with a port; `port` wins. Default port: 25565.
   *
   * @throws `UtilityApiError` `invalid_request` and `address_not_allowed` (400), `server_check_failed` (500, with a
   * `reason`), `unavailable` (503), `not_found` (404) if the lookup is switched off; the signal's reason if that aborts
   *
   * @example
   * ```ts
   * const { players } = await api.lookUpGameServer({ address: 'play.example.com' })
   * ```
   */
  readonly lookUpGameServer: (
    server: { readonly address: string; readonly port?: number },
    options?: OwnCallOptions,
  ) => Promise<GameServerLookup>
  /** Returns the OpenAPI 3.1 document of the enabled operations. */
  readonly openapi: () => OpenApiDocument
  /**
   * Tells whether storage answers within `storageTimeoutMs`. Never rejects: why storage failed is logged. A storage without
   * `ping` counts as healthy.
   */
  readonly health: () => Promise<{ storage: 'ok' | 'failed' }>
  /**
   * Refuses new requests with 503, waits for those in progress, and closes the network clients that this library opened.
   * The host's server and database stay open. Waits for requests at most a second longer than the longest configured
   * deadline. Then stores which credentials were used last, if the storage records that. This takes at most twice
   * `storageTimeoutMs`.
   */
  readonly close: () => Promise<void>
  /** The same as `close`. */
  readonly [Symbol.asyncDispose]: () => Promise<void>
}

/** Everything that the object needs. */
export interface UtilityApiParts {
  readonly service: Service
  /** The endpoint of each operation; undefined for one that is switched off. */
  readonly endpoints: Readonly<Record<OperationId, Endpoint | undefined>>
  /** The operations that the program may call itself; undefined for one that is switched off. */
  readonly operations: {
    readonly checkDns: Operation<CheckDnsInput, DnsCheckResult[], unknown> | undefined
    readonly lookUpGameServer: Operation<LookUpGameServerInput, GameServerLookup, unknown> | undefined
  }
  readonly verifier: Verifier
  readonly licenseSigning: LicenseSigning
  readonly storage: TimedStorage
  readonly basePath: string
  /** How long `close` waits for requests in progress. */
  readonly drainTimeoutMs: number
  /** Aborts what is still in progress when the service closes. */
  readonly closing: Closing
  closeClients(): Promise<void>
}

/** For the log of a mount that could let the request go on to a route of the host's. */
const endsHere = 'No operation has this path. Routes after this mount need { fallthrough: true }.'

/** Creates the object that users hold. */
export function utilityApi(parts: UtilityApiParts): UtilityApi {
  const { service, storage, basePath } = parts
  const endpoints = Object.values(parts.endpoints).filter((each) => each !== undefined)
  const route = createRouter(endpoints, basePath)
  const noRouteFor = (url: string, { fallthrough }: RequestContext): string | undefined =>
    nearMissOf(url, (path) => route(path) !== null) ?? (fallthrough === false ? endsHere : undefined)
  const serveFound = (request: RequestLike, context: RequestContext, found: Found): Promise<Reply> => {
    if (found === null && context.fallthrough === true) return Promise.resolve(unroutedReply())
    const call = new Call(request, context, found?.params ?? noParams, parts.closing, service.logger)
    if (found === null) call.noRoute = noRouteFor(request.url, context)
    return serve(service, found?.target ?? null, call)
  }
  const respond = (
    request: Request,
    context: RequestContext,
    find: (url: string) => Found,
  ): Promise<Response> => {
    if (!isRequest(request)) return Promise.reject(invalidArgument(notARequest))
    const view = new WebRequest(request)
    return serveFound(view, context ?? {}, find(view.url)).then(toResponse)
  }
  const handlerOf = (id: OperationId): Handler => {
    const target = parts.endpoints[id]
    return (request, context = {}) => respond(request, context, (url) => ownRoute(target, route(url)))
  }
  const own = { inFlight: service.inFlight, closing: parts.closing }
  const close = (): Promise<void> => closeAll(parts)

  return {
    ...parts.verifier,
    ...parts.licenseSigning,
    fetch: (request, context = {}) => respond(request, context, route),
    handlers: Object.fromEntries(operationIds.map((id) => [id, handlerOf(id)])) as UtilityApi['handlers'],
    dispatch(request, context) {
      if (!isView(request)) return Promise.reject(invalidArgument(notAView))
      return serveFound(request, context ?? {}, route(request.url))
    },
    async checkDns(question, options) {
      // A name alone would be judged as an object without the fields.
      demand(isOptions(question), 'question must be an object: write checkDns({ domain, recordType }).')
      const { onAnswer, ...others } = ownCallOptions(options, 'onAnswer')
      const onPart = onAnswer && tellOf(onAnswer, service.logger)
      return ownCall(own, parts.operations.checkDns, question, { ...others, onPart })
    },
    async lookUpGameServer(server, options) {
      demand(isOptions(server), 'server must be an object: write lookUpGameServer({ address }).')
      const { port, ...others } = server
      // Over HTTP it is text.
      const input = port === undefined ? others : { ...others, port: String(port) }
      return ownCall(own, parts.operations.lookUpGameServer, input, ownCallOptions(options))
    },
    openapi() {
      const options = { basePath, ownErrorBodies: service.errorBody !== undefined }
      const operations = endpoints.map((each) => each.describe(options))
      return structuredClone(openApiDocument(operations, basePath))
    },
    health: () => healthOf(storage, service.storageTimeoutMs, service.logger),
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Returns what tells a function of the host about each element. That it fails must not fail the check of others. */
function tellOf(
  onAnswer: (result: DnsCheckResult, position: number) => void,
  logger: Logger,
): (part: JsonBody, position: number) => void {
  return (part, position) =>
    harmless(
      () => onAnswer(parsedBody(part), position),
      (cause) => logger.error('onAnswer failed.', { cause }),
    )
}

type Found = Route<Endpoint> | null

const notARequest =
  'request must be a Request of the Fetch standard: write new Request(url), or mount toNodeHandler(api) or toExpressHandler(api).'
const notAView = 'request must be a view of a request, with a url and a header function.'

/** Hosts have request classes of their own. Express's and Node's requests have headers too, but no `get`. */
function isRequest(request: Partial<Request> | undefined): boolean {
  return typeof request?.headers?.get === 'function' && typeof request.url === 'string'
}

function isView(request: Partial<RequestLike> | undefined): boolean {
  return typeof request?.url === 'string' && typeof request.header === 'function'
}

/** Returns the route of a handler: its own operation, whatever the path, with parameters only if the path is its own. */
function ownRoute(target: Endpoint | undefined, found: Found): Found {
  if (target === undefined) return null
  return { target, params: found?.target === target ? found.params : noParams }
}

async function healthOf(
  storage: TimedStorage,
  timeoutMs: number,
  logger: Logger,
): Promise<{ storage: 'ok' | 'failed' }> {
  try {
    await storage.ping(callWithin(timeoutMs))
    return { storage: 'ok' }
  } catch (error) {
    logger.error('The storage failed its health check.', { cause: (error as Error).cause })
    return { storage: 'failed' }
  }
}

async function closeAll({ service, closing, drainTimeoutMs, closeClients }: UtilityApiParts): Promise<void> {
  await service.inFlight.close(drainTimeoutMs)
  // The last answers are made, but not all of them have reached their mounts.
  await new Promise((resolve) => setImmediate(resolve))
  closing.abort()
  await closeClients()
}
