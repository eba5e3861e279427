import { command, type AnyCommand } from '../terminal/command.ts'
import { adminOptions, withAdmin } from '../database/database.ts'
import { given, scopeOf, secondsOf } from '../terminal/option-values.ts'
import { printSecrets } from '../terminal/output.ts'

/** The options for what a code or token grants, and on whose behalf. */
export const grantOptions = {
  scope: {
    type: 'string',
    valueHint: 'NAMES',
    description: 'Scope names separated by spaces. Default: none.',
  },
  subject: {
    type: 'string',
    valueHint: 'WHO',
    description: 'The user it is issued on behalf of. Default: none.',
  },
} as const

export const code: AnyCommand = {
  commands: {
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
        ...grantOptions,
        challenge: {
          type: 'string',
          valueHint: 'CHALLENGE',
          description: 'PKCE challenge (S256). Default: none.',
        },
        lifetime: {
          type: 'string',
          default: '60',
          valueHint: 'TIME',
          description: 'How long it is valid: seconds, or 5m; at most 10m.',
        },
        ...adminOptions,
      },
      examples: [
        'code issue --client ID --redirect-uri https://shop.example/callback --subject user-42 --lifetime 600',
      ],
      run: ({ client: clientId, scope, subject, challenge, lifetime, database, storage, json, ...args }) =>
        withAdmin({ database, storage }, async (admin) => {
          const issued = await admin.issueAuthorizationCode({
            clientId,
            redirectUri: args['redirect-uri'],
            scope: scopeOf(scope),
            lifetimeSeconds: secondsOf('lifetime', lifetime, 1, 600),
            ...given({ subject, codeChallenge: challenge }),
          })
          printSecrets({ ...issued }, json)
        }),
    }),
  },
  examples: ['code issue --client ID --redirect-uri https://shop.example/callback'],
}
