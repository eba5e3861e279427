/**
 * A value or a promise of it, so that a synchronous driver does not have to pretend to wait.
 *
 * @group Storage
 */
export type MaybePromise<Value> = Value | Promise<Value>
