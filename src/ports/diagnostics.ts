import { tracingChannel, type TracingChannel } from 'node:diagnostics_channel'
import type { MaybePromise } from '../domain/maybe-promise.ts'

/** Returns a channel that knows whether anybody listens. Bun knows this only of the channel's parts. */
function channelNamed(name: string): TracingChannel<unknown> {
  const channel = tracingChannel(name)
  if (channel.hasSubscribers !== undefined) return channel
  const { start, end, asyncStart, asyncEnd, error } = channel
  return Object.defineProperty(channel, 'hasSubscribers', {
    get: () => [start, end, asyncStart, asyncEnd, error].some((part) => part.hasSubscribers),
  })
}

/**
 * The tracing channels (`node:diagnostics_channel`), each named `utility-api.` followed by its key here. The names and
 * the fields of the events are public, because tracing tools subscribe to the channels by name. Without a subscriber,
 * nothing is done for them.
 */
export const channels: Readonly<
  Record<'request' | 'storage' | 'dns' | 'blockgame', TracingChannel<unknown>>
> = {
  /** One request, from when it is first seen to the finished answer. */
  request: channelNamed('utility-api.request'),
  /** One call of a storage method: `{ method }`. */
  storage: channelNamed('utility-api.storage'),
  /** One query of a DNS check: `{ type, server }`. */
  dns: channelNamed('utility-api.dns'),
  /** One lookup of a game server: `{}`, because the address would show what a user looks up. */
  blockgame: channelNamed('utility-api.blockgame'),
}

/**
 * Does the work between the events of a channel. Used directly, `tracePromise` would show subscribers the results,
 * which include answers with tokens.
 */
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
