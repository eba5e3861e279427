import { command, type AnyCommand } from '../terminal/command.ts'
import { adminOptions, nameOption, withAdmin } from '../database/database.ts'
import { given, lifetimeOption, lifetimeSeconds } from '../terminal/option-values.ts'
import { printSecrets, timeText } from '../terminal/output.ts'
import { pageOptions, printPage } from './print-list.ts'

export const reseller: AnyCommand = {
  commands: {
    list: command({
      description: 'List resellers, oldest first.',
      args: { ...pageOptions, ...adminOptions },
      examples: ['reseller list --database utility.sqlite', 'reseller list --limit 10 --json'],
      run: (args) =>
        withAdmin(args, (admin) =>
          printPage('resellers', args, admin.listResellers, {
            heading: ['RESELLER', 'NAME', 'CREATED'],
            cells: ({ resellerId, name = '', createdAt }) => [resellerId, name, timeText(createdAt)],
          }),
        ),
    }),

    create: command({
      description: 'Create a reseller and print its token.',
      args: { ...nameOption, ...lifetimeOption, ...adminOptions },
      examples: ['reseller create --name "Example Hosting" --database utility.sqlite'],
      run: ({ name, lifetime, database, storage, json }) => {
        const wanted = given({ name, tokenLifetimeSeconds: lifetimeSeconds(lifetime) })
        return withAdmin({ database, storage }, async (admin) =>
          printSecrets(await admin.createReseller(wanted), json),
        )
      },
    }),

    token: command({
      description: 'Give a reseller another token and print it; its other tokens stay valid.',
      args: {
        reseller_id: { type: 'positional', required: true, description: 'The id of the reseller.' },
        ...lifetimeOption,
        ...adminOptions,
      },
      examples: [
        'reseller token ID --database utility.sqlite',
        'reseller token ID --lifetime 365d --database utility.sqlite',
      ],
      run: ({ reseller_id: resellerId, lifetime, database, storage, json }) => {
        const wanted = given({ lifetimeSeconds: lifetimeSeconds(lifetime) })
        return withAdmin({ database, storage }, async (admin) =>
          printSecrets(await admin.createResellerToken(resellerId, wanted), json),
        )
      },
    }),
  },
  examples: ['reseller list', 'reseller create --name "Example Hosting"', 'reseller token ID'],
}
