import { command, type AnyCommand } from '../terminal/command.ts'
import { adminOptions, nameOption, withAdmin } from '../database/database.ts'
import { given } from '../terminal/option-values.ts'
import { printSecrets, timeText } from '../terminal/output.ts'
import { pageOptions, printPage } from './print-page.ts'

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
      args: { ...nameOption, ...adminOptions },
      examples: ['reseller create --name "Example Hosting" --database utility.sqlite'],
      run: ({ name, database, storage, json }) =>
        withAdmin({ database, storage }, async (admin) =>
          printSecrets(await admin.createReseller(given({ name })), json),
        ),
    }),

    token: command({
      description: 'Give a reseller another token and print it; its other tokens stay valid.',
      args: {
        reseller_id: { type: 'positional', required: true, description: 'The id of the reseller.' },
        ...adminOptions,
      },
      examples: ['reseller token ID --database utility.sqlite'],
      run: ({ reseller_id: resellerId, database, storage, json }) =>
        withAdmin({ database, storage }, async (admin) =>
          printSecrets(await admin.createResellerToken(resellerId), json),
        ),
    }),
  },
  examples: ['reseller list', 'reseller create --name "Example Hosting"', 'reseller token ID'],
}
