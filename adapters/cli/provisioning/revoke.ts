import { text } from 'node:stream/consumers'
import { createAdmin } from 'utility-api'
import { callWithin, type AccessReference, type AdminStorage } from 'utility-api/storage'
import { command, UsageError, type AnyCommand } from '../terminal/command.ts'
import { noClient } from './client.ts'
import { adminOptions, withAdmin, withDatabase } from '../database/database.ts'
import { printFields } from '../terminal/output.ts'

export const revoke: AnyCommand = command({
  args: {
    id: {
      type: 'positional',
      required: true,
      description: 'The id printed with the secret; "-" reads the secret itself from standard input.',
    },
    ...adminOptions,
  },
  examples: [
    'revoke 787f76b4-edee-4f61-9dd6-159a1df4cd62 --database utility.sqlite',
    'revoke - --database utility.sqlite < leaked-secret.txt',
  ],
  run: ({ id, database, storage, json }) => {
    if (id.startsWith('uapi_'))
      throw new UsageError('This is a secret, not an id. Pass it on standard input: utility-api revoke -')
    return withAdmin({ database, storage }, async (admin) => {
      // A secret passed as an argument would leak again, into the shell's history.
      const revoked =
        id === '-'
          ? await admin.revoke({ secret: (await text(process.stdin)).trim() })
          : (await admin.revoke({ id })) || (await admin.revokeClient(id))
      if (!revoked) throw new Error('There is nothing to revoke: it was revoked before, or never existed.')
      printFields({ revoked: id === '-' ? 'the secret' : id }, json)
    })
  },
})

export const revokeAccess: AnyCommand = command({
  args: {
    client: { type: 'string', valueHint: 'ID', description: 'Everything granted to this client.' },
    subject: {
      type: 'string',
      valueHint: 'WHO',
      description: 'Everything granted by this user.',
    },
    reseller: { type: 'string', valueHint: 'ID', description: 'All tokens of this reseller.' },
    ...adminOptions,
  },
  examples: [
    'revoke-access --subject user-42 --database utility.sqlite',
    'revoke-access --client ID --database utility.sqlite',
    'revoke-access --reseller shop --database utility.sqlite',
  ],
  run: ({ client: clientId, subject, reseller: resellerId, database, storage, json }) => {
    const given = Object.entries({ clientId, subject, resellerId }).filter(([, id]) => id !== undefined)
    if (given.length !== 1) throw new UsageError('Give either --client, --subject or --reseller.')
    const which = Object.fromEntries(given) as AccessReference
    return withDatabase({ database, storage }, async (opened) => {
      const revoked = await createAdmin({ storage: opened }).revokeAccess(which)
      if (revoked.codes + revoked.tokens === 0) await requireKnown(opened, which)
      printFields({ ...revoked }, json)
    })
  },
})

/** A mistyped id must not look as if a leak had been stopped. */
async function requireKnown(storage: AdminStorage, which: AccessReference): Promise<void> {
  const call = callWithin(5000)
  if ('clientId' in which && (await storage.findClient(which.clientId, call)) === null)
    throw noClient(which.clientId)
  if ('resellerId' in which && (await storage.findReseller(which.resellerId, call)) === null)
    throw new Error(`There is no reseller "${which.resellerId}".`)
}
