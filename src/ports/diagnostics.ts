import { tracingChannel, type TracingChannel } from 'node:diagnostics_channel'
import type { MaybePromise } from './maybe-promise.ts'

/** A channel that knows whether anybody listens: Bun knows it of its parts alone. */
function channelNamed(name: string): TracingChannel<unknown> {
  const channel = tracingChannel(name)
  if (channel.hasSubscribers !== undefined) return channel
  const { start, end, asyncStart, asyncEnd, error } = channel
  return Object.defineProperty(channel, 'hasSubscribers', {
    get: () =>
      start.hasSubscribers ||
      end.hasSubscribers ||
      asyncStart.hasSubscribers ||
      asyncEnd.hasSubscribers ||
      error.hasSubscribers,
  })
}

/**
 * The tracing channels (`node:diagnostics_channel`), each named `utility-api.` and this. Public, like the fields of their
 * events: tracing tools subscribe to them by name. Without a subscriber nothing is done for them.
 */
export const channels: Readonly<
  Record<'request' | 'storage' | 'dns' | 'blockgame', TracingChannel<unknown>>
> = {
  /** One request, from the first look at it to the finished answer. */
  request: channelNamed('utility-api.request'),
  /** One call of a storage method: `{ method }`. */
  storage: channelNamed('utility-api.storage'),
  /** One question to one resolver: `{ type, server }`. */
  dns: channelNamed('utility-api.dns'),
  /** One look at a game server: `{}`, for its address is what a user looks at. */
  blockgame: channelNamed('utility-api.blockgame'),
}

/** Does the work between the events of a channel. `tracePromise` would show subscribers the result: answers with tokens. */
export async function trace<Value>(
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
