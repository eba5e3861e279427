import { text } from 'node:stream/consumers'
import { command, group, integer, list, type AnyCommand } from './command.ts'
import { databaseOption, withAdmin } from './database.ts'
import { jsonOption, printFields, printSecrets } from './output.ts'

const shared = { ...databaseOption, ...jsonOption } as const
const nameOption = { name: { type: 'string', description: 'A label for people.' } } as const

export const client: AnyCommand = group('OAuth clients: create.', {
  create: command({
    description: 'Register an OAuth client and print its secret.',
    args: {
      redirect_uri: { type: 'positional', description: 'Where codes may be sent; further ones may follow.' },
      ...nameOption,
      ...shared,
    },
    rest: true,
    examples: ['client create https://shop.example/callback --name Shop --database utility.sqlite'],
    run: ({ _: redirectUris, name, database, json }) =>
      withAdmin(database, async (admin) =>
        printSecrets(await admin.createClient({ redirectUris, ...(name !== undefined && { name }) }), json),
      ),
  }),
})

export const reseller: AnyCommand = group('Resellers and their tokens: create.', {
  create: command({
    description: 'Create a reseller and print its token.',
    args: { ...nameOption, ...shared },
    examples: ['reseller create --name "Example Hosting" --database utility.sqlite'],
    run: ({ name, database, json }) =>
      withAdmin(database, async (admin) =>
        printSecrets(await admin.createReseller(name === undefined ? {} : { name }), json),
      ),
  }),
})

export const apiKey: AnyCommand = group('API keys for the game server lookup: create.', {
  create: command({
    description: 'Create an API key for the game server lookup and print it.',
    args: {
      permissions: {
        type: 'string',
        default: 'blockgame:lookup',
        valueHint: 'A,B',
        description: 'What it permits.',
      },
      ...nameOption,
      ...shared,
    },
    examples: ['api-key create --name "Status page" --database utility.sqlite'],
    run: ({ name, permissions, database, json }) =>
      withAdmin(database, async (admin) =>
        printSecrets(
          await admin.createApiKey({ permissions: list(permissions), ...(name !== undefined && { name }) }),
          json,
        ),
      ),
  }),
})

export const code: AnyCommand = group('Authorization codes: issue.', {
  issue: command({
    description: 'Issue an authorization code by hand, to try the token endpoint.',
    args: {
      client: { type: 'string', required: true, valueHint: 'ID', description: 'The client it is for.' },
      'redirect-uri': {
        type: 'string',
        required: true,
        valueHint: 'URI',
        description: "One of the client's redirection URIs.",
      },
      scope: {
        type: 'string',
        valueHint: 'NAMES',
        description: 'Scope names separated by spaces. Default: none.',
      },
      challenge: {
        type: 'string',
        valueHint: 'S256',
        description: 'PKCE challenge (S256). Default: none.',
      },
      lifetime: {
        type: 'string',
        default: '60',
        valueHint: 'SECONDS',
        description: 'How long it can be used; at most 600.',
      },
      ...shared,
    },
    examples: ['code issue --client ID --redirect-uri https://shop.example/callback --lifetime 600'],
    run: ({ client: clientId, scope = '', challenge, lifetime, database, json, ...args }) =>
      withAdmin(database, async (admin) => {
        const issued = await admin.issueAuthorizationCode({
          clientId,
          redirectUri: args['redirect-uri'],
          scope,
          lifetimeSeconds: integer('lifetime', lifetime, 1, 600),
          ...(challenge !== undefined && { codeChallenge: challenge }),
        })
        printSecrets({ ...issued }, json)
      }),
  }),
})

export const token: AnyCommand = group('Access tokens: create.', {
  create: command({
    description: 'Create an access token without a code exchange and print it.',
    args: {
      scope: {
        type: 'string',
        valueHint: 'NAMES',
        description: 'Scope names separated by spaces. Default: none.',
      },
      lifetime: { type: 'string', default: '3600', valueHint: 'SECONDS', description: 'How long it lives.' },
      ...shared,
    },
    examples: ['token create --lifetime 86400 --database utility.sqlite'],
    run: ({ scope = '', lifetime, database, json }) =>
      withAdmin(database, async (admin) => {
        const lifetimeSeconds = integer('lifetime', lifetime, 1, 31_536_000)
        printSecrets(await admin.createAccessToken({ scope, lifetimeSeconds }), json)
      }),
  }),
})

export const revoke: AnyCommand = command({
  description: 'Revoke a client, a token or an API key.',
  args: {
    id: {
      type: 'positional',
      required: true,
      description: 'The id printed beside the secret; "-" reads the secret itself from standard input.',
    },
    ...shared,
  },
  examples: [
    'revoke 787f76b4-edee-4f61-9dd6-159a1df4cd62 --database utility.sqlite',
    'revoke - --database utility.sqlite < leaked-secret.txt',
  ],
  run: ({ id, database, json }) =>
    withAdmin(database, async (admin) => {
      // A secret among the arguments would leak once more, into the shell's history.
      const revoked =
        id === '-'
          ? await admin.revoke({ secret: (await text(process.stdin)).trim() })
          : (await admin.revoke({ id })) || (await admin.revokeClient(id))
      if (!revoked) throw new Error('There is nothing live to revoke: it was revoked before, or never was.')
      printFields({ revoked: id === '-' ? 'the secret' : id }, json)
    }),
})
