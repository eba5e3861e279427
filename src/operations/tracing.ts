import { tracingChannel, type TracingChannel } from 'node:diagnostics_channel'
import type { MaybePromise } from '../ports/storage.ts'

type Channel = 'request' | 'storage' | 'dns' | 'blockgame'

/**
 * The tracing channels (`node:diagnostics_channel`), each named `utility-api.` and this. Public, like the fields of their
 * events: tracing tools subscribe to them by name. Without a subscriber they cost nothing.
 */
const channels: Readonly<Record<Channel, TracingChannel<unknown>>> = {
  /** One request, from the first look at it to the finished answer. */
  request: tracingChannel('utility-api.request'),
  /** One call of a storage method: `{ method }`. */
  storage: tracingChannel('utility-api.storage'),
  /** One question to one resolver: `{ type, server }`. */
  dns: tracingChannel('utility-api.dns'),
  /** One look at a game server: `{}`, for its address is what a user looks at. */
  blockgame: tracingChannel('utility-api.blockgame'),
}

/** Tells whether anybody listens to a channel. */
export function isTraced(name: Channel): boolean {
  // Bun cannot tell and says undefined.
  return channels[name].hasSubscribers !== false
}

/** Does the work between the events of a channel. The event is made only where somebody listens. */
export function trace<Value>(name: Channel, event: () => object, work: () => Promise<Value>): Promise<Value>
export function trace<Value>(
  name: Channel,
  event: () => object,
  work: () => MaybePromise<Value>,
): MaybePromise<Value>
export function trace<Value>(
  name: Channel,
  event: () => object,
  work: () => MaybePromise<Value>,
): MaybePromise<Value> {
  return isTraced(name) ? withoutResult(channels[name], event(), work) : work()
}

/** `tracePromise` shows the result to its subscribers; ours are answers with tokens in them. */
async function withoutResult<Value>(
  channel: TracingChannel<unknown>,
  event: object,
  work: () => MaybePromise<Value>,
): Promise<Value> {
  const results: Value[] = []
  await channel.tracePromise(async () => {
    results.push(await work())
  }, event)
  return results[0] as Value
}
