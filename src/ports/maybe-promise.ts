/**
 * A value, or a promise of it: a synchronous driver need not pretend to wait.
 *
 * @group Storage
 */
export type MaybePromise<Value> = Value | Promise<Value>
