import { command, UsageError, type AnyCommand } from '../terminal/command.ts'
import { adminOptions, nameOption, withAdmin } from '../database/database.ts'
import { given } from '../terminal/option-values.ts'
import { printFields, printSecrets, timeText } from '../terminal/output.ts'
import { pageOptions, printPage } from './print-list.ts'

const idArgument = {
  client_id: { type: 'positional', required: true, description: 'The id of the client.' },
} as const

export const client: AnyCommand = {
  commands: {
    list: command({
      description: 'List OAuth clients, oldest first.',
      args: { ...pageOptions, ...adminOptions },
      examples: ['client list --database utility.sqlite', 'client list --limit 10 --json'],
      run: (args) =>
        withAdmin(args, (admin) =>
          printPage('clients', args, admin.listClients, {
            heading: ['CLIENT', 'NAME', 'TYPE', 'CREATED', 'REVOKED', 'REDIRECTION URIS'],
            cells: ({ clientId, name = '', clientType = '', createdAt, revokedAt, redirectUris }) => [
              clientId,
              name,
              clientType,
              timeText(createdAt),
              timeText(revokedAt),
              redirectUris.join(' '),
            ],
          }),
        ),
    }),

    create: command({
      description: 'Register an OAuth client and print its secret, unless it is public.',
      args: {
        redirect_uri: {
          type: 'positional',
          description: 'Where codes may be sent; more may follow.',
        },
        public: {
          type: 'boolean',
          description:
            'A program that cannot keep a secret, as on the machine of its user. It must use PKCE.',
        },
        ...nameOption,
        ...adminOptions,
      },
      rest: true,
      examples: [
        'client create https://shop.example/callback --name Shop --database utility.sqlite',
        'client create http://127.0.0.1/callback --public --database utility.sqlite',
      ],
      run: ({ name, public: isPublic, database, storage, json }, { words: redirectUris }) =>
        withAdmin({ database, storage }, async (admin) => {
          const fields = { redirectUris, ...given({ name }) }
          if (isPublic !== true) return printSecrets(await admin.createClient(fields), json)
          const { clientId } = await admin.createClient({ ...fields, clientType: 'public' })
          return printFields({ clientId }, json)
        }),
    }),

    update: command({
      description: 'Change the name or the redirection URIs of a client.',
      args: {
        ...idArgument,
        redirect_uri: {
          type: 'positional',
          required: false,
          description: 'Where codes may be sent from now on, replacing all earlier ones; more may follow.',
        },
        ...nameOption,
        ...adminOptions,
      },
      rest: true,
      examples: [
        'client update ID --name "The shop" --database utility.sqlite',
        'client update ID https://shop.example/callback https://shop.example/app --database utility.sqlite',
      ],
      run: ({ name, database, storage, json }, { words: [clientId = '', ...redirectUris] }) =>
        withAdmin({ database, storage }, async (admin) => {
          const patch = { ...given({ name }), ...(redirectUris.length > 0 && { redirectUris }) }
          if (Object.keys(patch).length === 0) throw new UsageError('Give --name or redirection URIs.')
          if (!(await admin.updateClient(clientId, patch))) throw noClient(clientId)
          printFields({ updated: clientId }, json)
        }),
    }),

    rotate: command({
      description: 'Give a client a new secret; the previous one stays valid until the next rotation.',
      args: { ...idArgument, ...adminOptions },
      examples: ['client rotate ID --database utility.sqlite'],
      run: ({ client_id: clientId, database, storage, json }) =>
        withAdmin({ database, storage }, async (admin) =>
          printSecrets({ clientId, ...(await admin.rotateClientSecret(clientId)) }, json),
        ),
    }),

    revoke: command({
      description:
        'Revoke a client: it can exchange no more codes. Its tokens stay; revoke-access ends them.',
      args: { ...idArgument, ...adminOptions },
      examples: ['client revoke ID --database utility.sqlite'],
      run: ({ client_id: clientId, database, storage, json }) =>
        withAdmin({ database, storage }, async (admin) => {
          if (!(await admin.revokeClient(clientId))) throw noClient(clientId, 'live ')
          printFields({ revoked: clientId }, json)
        }),
    }),
  },
  examples: ['client list', 'client create https://shop.example/callback --name Shop', 'client rotate ID'],
}

export function noClient(clientId: string, which = ''): Error {
  return new Error(`There is no ${which}client "${clientId}".`)
}
