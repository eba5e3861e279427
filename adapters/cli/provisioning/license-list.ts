import { command, UsageError, type AnyCommand } from '../terminal/command.ts'
import { adminOptions, withAdmin } from '../database/database.ts'
import { isUtilityApiError } from '../terminal/error-sentence.ts'
import { dateOf, dateOption, given } from '../terminal/option-values.ts'
import { dayText, printFields } from '../terminal/output.ts'
import { withProgress } from '../terminal/progress.ts'
import { pageOptions, printPage } from './print-list.ts'

const resellerOption = {
  reseller: { type: 'string', valueHint: 'ID', description: "Only this reseller's." },
} as const

export const list: AnyCommand = command({
  description: 'List licenses, oldest first.',
  args: {
    domain: {
      type: 'string',
      valueHint: 'HOST',
      description: 'Only those that cover this host name or IP address, however it is written.',
    },
    status: { type: 'string', valueHint: 'STATUS', description: 'Only those with this status.' },
    reference: { type: 'string', valueHint: 'TEXT', description: 'Only those that were sold for this.' },
    'ends-before': { ...dateOption, description: 'Only those that end before, in order of their end.' },
    'ends-from': { ...dateOption, description: 'With --ends-before: only those that end then or later.' },
    ...resellerOption,
    ...pageOptions,
    ...adminOptions,
  },
  examples: [
    'license list --limit 10 --database utility.sqlite',
    'license list --domain eu.shop.example --status valid',
    'license list --reseller ID --all --json',
    'license list --ends-from 2027-01-01 --ends-before 2027-02-01',
  ],
  run: ({ reseller: resellerId, domain: domainOrIp, status, reference, ...args }) =>
    withAdmin(args, (admin) => {
      const ends = {
        endsFrom: dateOf('ends-from', args['ends-from']),
        endsBefore: dateOf('ends-before', args['ends-before']),
      }
      const filters = given({ resellerId, domainOrIp, status, reference, ...ends })
      return printPage(
        'licenses',
        args,
        (page) => admin.listLicenses({ ...filters, ...page }).catch(refuseDomain),
        {
          heading: ['KEY', 'STATUS', 'DOMAIN OR IP', 'REGISTERED TO', 'RESELLER', 'ENDS'],
          cells: (row) => [
            row.licenseKey,
            row.status,
            row.domainOrIp,
            row.registeredTo,
            row.resellerId,
            dayText(row.expiresAt),
          ],
        },
      )
    }),
})

/** Calls the filter as it was typed, which is not the option of the commands that change a license. */
function refuseDomain(error: unknown): never {
  const isDomain = isUtilityApiError(error) && error.argument === 'domainOrIp'
  throw isDomain ? new UsageError(error.message.replace('domainOrIp', '--domain')) : error
}

export const count: AnyCommand = command({
  description: 'Count licenses.',
  args: { ...resellerOption, ...adminOptions },
  examples: ['license count --database utility.sqlite', 'license count --reseller ID --json'],
  run: ({ reseller: resellerId, database, storage, json }) =>
    withAdmin({ database, storage }, async (admin) => {
      const countAll = (): Promise<number> => admin.countLicenses(given({ resellerId }))
      printFields({ licenses: await withProgress('Counting', countAll) }, json)
    }),
})
