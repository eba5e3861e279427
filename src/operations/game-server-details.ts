import * as z from 'zod'
import type { ServerStatus } from '../domain/server-status.ts'

/** What an answer says in addition to the contract, if the owner wants it. */
export interface GameServerDetails {
  description?: string | undefined
  favicon?: string | undefined
  sample?: { name: string; id: string }[] | undefined
}

/** An answer with the largest icon must stay small enough to be sent to every visitor of a page. */
const maxFaviconLength = 32 * 1024
const maxSample = 12

/** The members of the answer's schema that hold the details. */
export const detailSchemas = (): {
  [Name in keyof Required<GameServerDetails>]: z.ZodType<GameServerDetails[Name]>
} => ({
  description: z.string().describe('What the server says about itself, as plain text.'),
  favicon: z
    .string()
    .max(maxFaviconLength)
    .optional()
    .describe('Icon as a PNG data URL, if the server has a small one.'),
  sample: z
    .array(
      z.object({
        name: z.string().describe('Name of the player.'),
        id: z.string().describe('Id of the player.'),
      }),
    )
    .max(maxSample)
    .optional()
    .describe('Some of the players online, if the server names any.'),
})

export const exampleDetails: GameServerDetails = {
  description: 'A friendly server',
  favicon: 'data:image/png;base64,iVBORw0KGgo=',
  sample: [{ name: 'Ada', id: '069a79f4-44e9-4726-a5be-fca90e38aaf5' }],
}

/** Returns the details of a status, within their bounds. */
export function detailsOf({ description, favicon, sample = [] }: ServerStatus): GameServerDetails {
  return {
    description,
    ...(favicon !== undefined && favicon.length <= maxFaviconLength ? { favicon } : {}),
    ...(sample.length > 0
      ? { sample: sample.slice(0, maxSample).map(({ name, id }) => ({ name, id })) }
      : {}),
  }
}
