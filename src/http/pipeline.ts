import { closeConnection, refusal, refused, UtilityApiError } from '../domain/errors.ts'
import { addressKey } from '../bounds/address-key.ts'
import { allRead } from '../bounds/all-read.ts'
import { decodeHeaderText } from '../domain/header-text.ts'
import { inputProblem } from '../operations/input-problem.ts'
import type { OctetBudget } from '../bounds/octet-budget.ts'
import type { Operation, OperationId, Parameter } from '../operations/operation.ts'
import { SharedAnswer } from '../bounds/shared-answer.ts'
import { channels } from '../ports/diagnostics.ts'
import { performance } from '../ports/timers.ts'
import type { BodyMembers, Scheme } from '../security/scheme.ts'
import { bodyWithheld, type BodyReader } from './body-reader.ts'
import { bodyParserFor } from './body-parser.ts'
import type { Call } from './call.ts'
import { errorReply, publicError, type ErrorStyle, type OwnErrors } from './error-reply.ts'
import { observed, type Observers } from './events.ts'
import { harmless, logError } from './log.ts'
import { unprovenCaller, type InFlightLimit } from '../bounds/in-flight.ts'
import { describeOperation, type OpenApiOptions, type OperationDescription } from './openapi.ts'
import type { RateLimit } from './rate-limit.ts'
import { jsonReply, optionsReply, withoutBody } from './reply.ts'
import type { Reply, RequestLike } from './request-like.ts'
import { allowedMethods, isAllowed, methodNotAllowed, nothingHere, type Routed } from './router.ts'

/** What all requests share. */
export interface Service extends Observers, OwnErrors {
  readonly bodies: BodyReader
  readonly inFlight: InFlightLimit
  /** What answers may take until they are written. */
  readonly budget: OctetBudget
  readonly storageTimeoutMs: number
  readonly rateLimit: RateLimit | undefined
}

/** An operation bound to the scheme of its callers. Hides the types of both. */
export interface Endpoint extends Routed {
  readonly id: OperationId
  readonly hasBody: boolean
  readonly errorStyle: ErrorStyle
  /** Authenticates the caller, reads the input and does the work. */
  answer(call: Call): Promise<unknown>
  describe(options: OpenApiOptions): OperationDescription
}

const givenUp = refusal('unavailable', 'The request was given up.')

/** Takes a request through all steps in order: route (already done), authenticate, input, run, reply. */
export function serve(service: Service, endpoint: Endpoint | null, call: Call): Promise<Reply> {
  if (service.onRequestEnd === undefined && !channels.request.hasSubscribers)
    return respond(service, endpoint, call)
  return observed(service, endpoint?.id, call, () => respond(service, endpoint, call))
}

async function respond(service: Service, endpoint: Endpoint | null, call: Call): Promise<Reply> {
  const { method } = call.request
  try {
    // Comes first, because a body that nobody reads piles up in the server.
    if (endpoint?.hasBody !== true || method !== endpoint.method) call.request.drain?.()
    enterConnection(service.inFlight, call)
    const routed = requireEndpoint(endpoint, call)
    if (method === 'OPTIONS') return optionsReply(allowedMethods(routed), call)
    if (call.request.bodyWithheld === true) throw refused(bodyWithheld, closeConnection)
    const value = await routed.answer(call)
    const letGo =
      value instanceof SharedAnswer && method !== 'HEAD'
        ? service.budget.hold(call.callerKey, value)
        : undefined
    const reply = jsonReply(200, value, call)
    if (letGo !== undefined) call.holdUntil(reply.written, letGo)
    return method === 'HEAD' ? withoutBody(reply) : reply
  } catch (thrown) {
    harmless(
      () => call.request.drain?.(),
      (cause) => logError(service.logger, publicError(cause), { requestId: call.requestId }),
    )
    const reply = await refuse(service, endpoint, call, publicError(thrown))
    return method === 'HEAD' ? withoutBody(reply) : reply
  } finally {
    // Closing waits for refusals as well, for which a rate limiter may be asked.
    if (call.isUnderWay) service.inFlight.end()
  }
}

/** Counts the request on its connection, if the mount tells which one that is. */
function enterConnection(inFlight: InFlightLimit, call: Call): void {
  const { connection } = call.context
  // In JavaScript, a host may pass anything.
  if (typeof connection !== 'object' || connection === null) return
  call.leaveConnection = inFlight.enterConnection(connection)
}

function requireEndpoint(endpoint: Endpoint | null, { request: { method }, noRoute }: Call): Endpoint {
  if (endpoint === null) throw refused(nothingHere, { cause: noRoute })
  if (method === 'OPTIONS' || isAllowed(method, endpoint)) return endpoint
  throw methodNotAllowed(endpoint)
}

async function refuse(
  service: Service,
  endpoint: Endpoint | null,
  call: Call,
  thrown: UtilityApiError,
): Promise<Reply> {
  const error = await limitFailures(service, thrown, call).catch(publicError)
  call.error = error
  const operation = endpoint === null ? {} : { operation: endpoint.id }
  logError(service.logger, error, { requestId: call.requestId, ...operation })
  const reply = errorReply(service, endpoint?.errorStyle, call, error)
  return endpoint === null ? { ...reply, unrouted: true } : reply
}

/** Counts failed credentials against their sender's address, which limits guessing. */
async function limitFailures(
  { rateLimit, inFlight }: Service,
  error: UtilityApiError,
  call: Call,
): Promise<UtilityApiError> {
  if (rateLimit === undefined || !isFailedCredential(error, call)) return error
  const { ip } = call.context
  // In JavaScript, a host may pass null or a list for what it does not know.
  if (typeof ip !== 'string') return error
  // In a place of its own, because the limiter may hang, and strangers' requests would pile up behind it.
  inFlight.enter('rateLimiter')
  try {
    await rateLimit(addressKey(ip), call.requestId)
  } finally {
    inFlight.leave('rateLimiter')
  }
  return error
}

/** A known caller has shown the right credentials, whatever was refused after that, or has only its code to show. */
function isFailedCredential({ status, code }: UtilityApiError, { caller, share }: Call): boolean {
  return caller === undefined ? status === 401 : share?.saidBy !== undefined && code === 'invalid_grant'
}

/** What answering an operation requires, the same for every request. */
interface Binding<Input, Output, Caller> {
  readonly operation: Operation<Input, Output, Caller>
  readonly scheme: Scheme<Caller>
  readonly parameters: readonly [field: string, Parameter][]
  /** The names of the members that are read from the body. */
  readonly members: readonly string[]
}

/** Binds an operation to the scheme that authenticates its callers. */
export function bind<Input, Output, Caller>(
  service: Service,
  operation: Operation<Input, Output, Caller>,
  scheme: Scheme<Caller>,
): Endpoint {
  const parameters = Object.entries<Parameter>(operation.parameters)
  const inBody = [...scheme.parameters, ...parameters.map(([, parameter]) => parameter)]
  const members = inBody.filter(({ in: location }) => location === 'body').map(({ name }) => name)
  const binding = { operation, scheme, parameters, members }
  return {
    id: operation.id,
    method: operation.method,
    path: operation.path,
    hasBody: members.length > 0,
    errorStyle: scheme,
    answer: (call) => answer(service, binding, call),
    describe: (options) => describeOperation(operation, scheme, options),
  }
}

/** Answers a request, once its body has been read if the operation has one. */
function answer<Input, Output, Caller>(
  service: Service,
  binding: Binding<Input, Output, Caller>,
  call: Call,
): Promise<Output | SharedAnswer<Output>> {
  const { members } = binding
  if (members.length === 0) return perform(service, binding, call)
  // Before the request counts as under way, because a slow sender would keep a place that others need, and hold up
  // closing.
  return readBody(service.bodies, call.request, members).then((parseBody) =>
    perform(service, binding, call, parseBody),
  )
}

/** Does the work of a request that has arrived in full. */
async function perform<Input, Output, Caller>(
  service: Service,
  binding: Binding<Input, Output, Caller>,
  call: Call,
  parseBody?: () => BodyMembers,
): Promise<Output | SharedAnswer<Output>> {
  const { operation, scheme } = binding
  const { inFlight } = service
  inFlight.begin()
  call.isUnderWay = true
  // After the body, which would otherwise be kept unread piece by piece, however small the pieces are.
  await allRead()
  if (parseBody !== undefined) call.body = parseBody()
  call.startStorageDeadline(service.storageTimeoutMs)
  let caller: Caller
  const sender = inFlight.enterUnknown(call.context)
  try {
    caller = await scheme.authenticate(call)
  } finally {
    inFlight.leave('credentials', sender)
  }
  const known = { scheme: scheme.name, id: scheme.callerId(caller) }
  const share = scheme.isUnproven?.(caller) === true ? unprovenCaller(known, call.context) : known
  call.caller = known
  call.share = share
  // Before the rate limiter is asked, because it may hang, and what waits for it must have a bound too.
  inFlight.enter(operation.waitsFor, share)
  try {
    if (service.rateLimit !== undefined) await limited(service.rateLimit, call.callerKey, call)
    scheme.requirePermission(caller, operation.permission)
    return await operation.run(readInput(binding, call), caller, call)
  } catch (error) {
    throw call.aborted && !(error instanceof UtilityApiError) ? abandoned(error) : error
  } finally {
    inFlight.leave(operation.waitsFor, share)
    call.end()
  }
}

/** Counts a request of a known caller. Storage does not lose the time that the limiter takes. */
async function limited(rateLimit: RateLimit, key: string, call: Call): Promise<void> {
  const asked = performance.now()
  await rateLimit(key, call.requestId)
  call.extendStorageDeadline(performance.now() - asked)
}

/** Reads the body. Returns a function that parses it. */
async function readBody(
  bodies: BodyReader,
  request: RequestLike,
  members: readonly string[],
): Promise<() => BodyMembers> {
  const parse = bodyParserFor(request)
  const bytes = await bodies.read(request)
  return () => parse(bytes, members)
}

function readInput<Input, Output, Caller>(
  { operation, parameters }: Binding<Input, Output, Caller>,
  call: Call,
): Input {
  const raw: Record<string, unknown> = {}
  for (const [field, parameter] of parameters) raw[field] = valueOf(parameter, call)
  const result = operation.input.safeParse(raw)
  if (result.success) return result.data
  throw inputProblem(parameters, result.error, call.body.mistake)
}

/** Returns the value of a parameter. An empty value counts as missing. */
function valueOf({ in: location, name }: Parameter, call: Call): unknown {
  if (location === 'path') return call.params[name]
  const value = location === 'header' ? headerText(name, call) : call.body.get(name)
  return value === '' ? undefined : value
}

function headerText(name: string, call: Call): string {
  const value = call.header(name) ?? ''
  // Joined, two names would pass for one with a comma in it.
  if (value.includes(',') && call.request.isRepeated?.(name) === true)
    throw new UtilityApiError('invalid_request', `${name} must be sent once.`)
  return decodeHeaderText(value)
}

function abandoned(cause: unknown): UtilityApiError {
  return refused(givenUp, { cause, retryAfterSeconds: 1 })
}
