import { randomUUID } from 'node:crypto'
import { demand, demandKnown, isOptions, isSignal } from '../domain/arguments.ts'
import { refusal, refused, UtilityApiError } from '../domain/errors.ts'
import { inputProblem } from '../operations/input-problem.ts'
import type { Operation, OperationCall, Parameter } from '../operations/operation.ts'
import { SharedAnswer } from '../bounds/shared-answer.ts'
import type { Closing } from '../bounds/closing.ts'
import type { InFlightLimit, KnownCaller } from '../bounds/in-flight.ts'

/**
 * Options of a call of an operation within the program.
 *
 * @group Operation
 */
export interface OwnCallOptions {
  /** Cancels the call. */
  readonly signal?: AbortSignal | undefined
  /**
   * Whose share of the limits the call uses, by any name you like, such as a user's. It is never confused with the
   * owner of a token. Default: the program itself is one caller.
   */
  readonly caller?: string | undefined
}

/** What all calls within the program share. */
export interface OwnCallParts {
  readonly inFlight: InFlightLimit
  readonly closing: Closing
}

const switchedOff = refusal('not_found', 'The operation is switched off.')

/**
 * Calls an operation within the program. It has the work, the validation, the limits and the errors of a request, but
 * authenticates nobody and asks no rate limiter.
 */
export async function ownCall<Input, Output>(
  { inFlight, closing }: OwnCallParts,
  operation: Operation<Input, Output, unknown> | undefined,
  input: { readonly [Field in keyof Input]?: unknown },
  { signal, caller = '', ...others }: OwnCallOptions & Pick<OperationCall, 'onPart'>,
): Promise<Output> {
  if (operation === undefined) throw refused(switchedOff)
  const fields = readInput(operation, input)
  const known: KnownCaller = { scheme: 'host', id: caller }
  inFlight.begin()
  const work = closing.workSignal(signal)
  try {
    inFlight.enter(operation.waitsFor, known)
    try {
      const call = {
        requestId: randomUUID(),
        callerKey: `host:${caller}`,
        signal: work.signal,
        timeLeftMs: () => Number.POSITIVE_INFINITY,
        ...others,
      }
      const answer = await operation.run(fields, undefined, call)
      // One from the cache has not waited, and so has not seen the signal.
      work.signal.throwIfAborted()
      return answer instanceof SharedAnswer ? answer.value() : answer
    } catch (error) {
      throw inFields(error, operation.parameters)
    } finally {
      inFlight.leave(operation.waitsFor, known)
    }
  } finally {
    work.stop()
    inFlight.end()
  }
}

/** Returns the options of a call, of which some operations have more. A misspelled one would be ignored in JavaScript. */
export function ownCallOptions<Options extends OwnCallOptions>(
  given: Options = {} as Options,
  ...callbacks: (keyof Options & string)[]
): Options {
  const names = ['signal', 'caller', ...callbacks]
  demand(isOptions(given), `options must be an object: write { ${names.join(', ')} }.`)
  demandKnown(given, new Set(names))
  demand(isSignal(given.signal), 'signal must be an AbortSignal.')
  demand(typeof (given.caller ?? '') === 'string', 'caller must be a string.')
  for (const name of callbacks)
    demand(['function', 'undefined'].includes(typeof given[name]), `${name} must be a function.`)
  return given
}

function readInput<Input, Output>(
  { input, parameters }: Operation<Input, Output, unknown>,
  given: object,
): Input {
  demandKnown(given, new Set(Object.keys(parameters)))
  const trimmed = Object.entries(given).map(([field, value]) => [
    field,
    typeof value === 'string' ? value.trim() : value,
  ])
  const result = input.safeParse(Object.fromEntries(trimmed))
  if (result.success) return result.data
  throw inFields(inputProblem(Object.entries<Parameter>(parameters), result.error), parameters)
}

/** Returns the error, with the fields of a call in the place of the parameters that a refusal names. */
function inFields(error: unknown, parameters: Readonly<Record<string, Parameter>>): unknown {
  if (!(error instanceof UtilityApiError) || error.code !== 'invalid_request') return error
  const message = Object.entries(parameters).reduce(
    (text, [field, { name }]) => text.replaceAll(`The header ${name}`, field).replaceAll(name, field),
    error.message,
  )
  return new UtilityApiError(error.code, message)
}
