/**
 * A value or a promise of it, so that a synchronous driver does not have to pretend to wait.
 *
 * @group Storage
 */
export type MaybePromise<Value> = Value | Promise<Value>

/**
 * Tells whether a value is a promise of any library or realm, because not all of them are instances of our `Promise`.
 */
export function isPromise<Value>(value: MaybePromise<Value>): value is Promise<Value> {
  return typeof (value as Partial<Promise<Value>> | null | undefined)?.then === 'function'
}

/**
 * Goes on with an answer: at once if the answer is there, otherwise when it comes. On Bun, waiting for an
 * answer that is there, in an `async` function, would cost a fiftieth of a request.
 */
export function andThen<Value, Result>(
  answer: MaybePromise<Value>,
  next: (value: Value) => Result,
): MaybePromise<Result> {
  return answer instanceof Promise ? answer.then(next) : next(answer)
}
