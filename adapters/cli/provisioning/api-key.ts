import { command, type AnyCommand } from '../terminal/command.ts'
import { adminOptions, nameOption, withAdmin } from '../database/database.ts'
import { given, lifetimeOption, lifetimeSeconds, list } from '../terminal/option-values.ts'
import { dayText, printSecrets, timeText } from '../terminal/output.ts'
import { pageOptions, printPage } from './print-list.ts'

export const apiKey: AnyCommand = {
  commands: {
    list: command({
      description: 'List API keys without their secrets, oldest first.',
      args: { ...pageOptions, ...adminOptions },
      examples: ['api-key list --database utility.sqlite', 'api-key list --limit 10 --json'],
      run: (args) =>
        withAdmin(args, (admin) =>
          printPage('credentials', args, (page) => admin.listCredentials({ kind: 'api_key', ...page }), {
            heading: ['API KEY', 'NAME', 'PERMISSIONS', 'CREATED', 'EXPIRES', 'LAST USED', 'REVOKED'],
            cells: ({ id, name = '', scope, createdAt, expiresAt, lastUsedOn, revokedAt }) => [
              id,
              name,
              scope,
              timeText(createdAt),
              timeText(expiresAt),
              dayText(lastUsedOn),
              timeText(revokedAt),
            ],
          }),
        ),
    }),

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
        ...lifetimeOption,
        ...adminOptions,
      },
      examples: [
        'api-key create --name "Status page" --database utility.sqlite',
        'api-key create --lifetime 90d --database utility.sqlite',
      ],
      run: ({ name, permissions, lifetime, database, storage, json }) => {
        const wanted = given({ name, lifetimeSeconds: lifetimeSeconds(lifetime) })
        return withAdmin({ database, storage }, async (admin) =>
          printSecrets(await admin.createApiKey({ permissions: list(permissions), ...wanted }), json),
        )
      },
    }),
  },
  examples: ['api-key list', 'api-key create --name "Status page"'],
}
