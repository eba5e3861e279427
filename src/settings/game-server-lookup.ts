import * as z from 'zod'
import type { BlockgameClientOptions } from '../blockgame.ts'
import { clientOptionNames } from '../blockgame/client.ts'
import { exactObject, harmless } from '../domain/exact-object.ts'
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
  readonly client?: BlockgameClient | undefined
  readonly clientOptions: BlockgameClientOptions
}

const protocolNumber = wholeNumber(-2_147_483_648, 2_147_483_647)
const ipAddress = z.string().refine((text) => parseIpAddress(text) !== null, notAnIpAddress)
const resolver = exactObject(
  { ip: ipAddress, port: port.exactOptional().register(harmless) },
  'must be an object: a resolver is { ip }',
)

export const gameServerLookup: z.ZodType<BlockgameLookupSettings> = exactObject(
  {
    timeoutMs: milliseconds.default(5000).register(harmless),
    cacheTtlMs: cacheTtlMs.default(0).register(harmless),
    maxConcurrent: count.default(50).register(harmless),
    requiredPermission: accessName.default('blockgame:lookup'),
    details: z.boolean().default(false).register(harmless),
    client: withMethods<BlockgameClient>('status').optional().register(harmless),
    allowAddress: callback<NonNullable<BlockgameClientOptions['allowAddress']>>().exactOptional(),
    resolvers: z.array(resolver).min(1).exactOptional().register(harmless),
    resolve: callback<NonNullable<BlockgameClientOptions['resolve']>>().exactOptional().register(harmless),
    protocolVersion: protocolNumber.exactOptional().register(harmless),
    fallbackProtocolVersion: protocolNumber.exactOptional().register(harmless),
  },
  objectOrFalse,
).transform((options, context) => {
  const given = clientOptionNames.filter((each) => options[each] !== undefined)
  const clientOptions: BlockgameClientOptions = Object.fromEntries(given.map((each) => [each, options[each]]))
  // An owner who adds a rule for addresses must not believe that it applies.
  if (options.client !== undefined && given[0] !== undefined)
    context.addIssue({ code: 'custom', path: [given[0]], message: 'has no effect on a client of your own' })
  return { ...options, clientOptions }
})
