import * as z from 'zod'
import type { BlockgameClientOptions } from '../blockgame.ts'
import { exactObject } from '../domain/exact-object.ts'
import { parseIpAddress } from '../domain/ip-address.ts'
import type { BlockgameLimits } from '../options.ts'
import type { BlockgameClient } from '../ports/blockgame-client.ts'
import {
  accessName,
  cacheTtlMs,
  callback,
  count,
  milliseconds,
  notAnIpAddress,
  objectOrFalse,
  port,
  wholeNumber,
} from './option-schemas.ts'
import { withMethods } from './with-methods.ts'

/** The lookup's settings, with the host's own client or the options of ours. */
export interface BlockgameLookupSettings extends Required<BlockgameLimits> {
  readonly client: BlockgameClient | undefined
  readonly clientOptions: BlockgameClientOptions
}

const ofBuiltInClient = [
  'allowAddress',
  'resolvers',
  'resolve',
  'protocolVersion',
  'fallbackProtocolVersion',
] as const

const protocolNumber = wholeNumber(-2_147_483_648, 2_147_483_647)
const ipAddress = z.string().refine((text) => parseIpAddress(text) !== null, notAnIpAddress)
const resolver = exactObject(
  { ip: ipAddress, port: port.exactOptional() },
  'must be an object: a resolver is { ip }',
  'port',
)

export const gameServerLookup: z.ZodType<BlockgameLookupSettings> = exactObject(
  {
    timeoutMs: milliseconds.default(5000),
    cacheTtlMs: cacheTtlMs.default(0),
    maxConcurrent: count.default(50),
    requiredPermission: accessName.default('blockgame:lookup'),
    details: z.boolean().default(false),
    client: withMethods<BlockgameClient>('status').optional(),
    allowAddress: callback<NonNullable<BlockgameClientOptions['allowAddress']>>().exactOptional(),
    resolvers: z.array(resolver).min(1).exactOptional(),
    resolve: callback<NonNullable<BlockgameClientOptions['resolve']>>().exactOptional(),
    protocolVersion: protocolNumber.exactOptional(),
    fallbackProtocolVersion: protocolNumber.exactOptional(),
  },
  objectOrFalse,
  'timeoutMs',
  'cacheTtlMs',
  'maxConcurrent',
  'details',
  'client',
  'resolvers',
  'resolve',
  'protocolVersion',
  'fallbackProtocolVersion',
)
  .superRefine((options, context) => {
    const without = ofBuiltInClient.find((each) => options[each] !== undefined)
    if (options.client === undefined || without === undefined) return
    // An owner who adds a rule for addresses must not believe that it applies.
    context.addIssue({ code: 'custom', path: [without], message: 'has no effect on a client of your own' })
  })
  .transform(
    ({
      timeoutMs,
      cacheTtlMs: ttl,
      maxConcurrent,
      requiredPermission,
      details,
      client,
      ...clientOptions
    }) => ({
      timeoutMs,
      cacheTtlMs: ttl,
      maxConcurrent,
      requiredPermission,
      details,
      client,
      clientOptions,
    }),
  )
