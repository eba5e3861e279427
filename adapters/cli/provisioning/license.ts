import type { Admin, License } from 'utility-api'
import { command, UsageError, type AnyCommand } from '../terminal/command.ts'
import { adminOptions, withAdmin, type Where } from '../database/database.ts'
import {
  keyPrefixOption,
  licenseOptions,
  licenseRules,
  type GivenLicenseOptions,
} from '../terminal/license-options.ts'
import { given } from '../terminal/option-values.ts'
import { printFields, printJson, timeText, withTimeTexts } from '../terminal/output.ts'
import { withProgress } from '../terminal/progress.ts'
import { pageOptions, printPage } from './print-page.ts'

const keyArgument = {
  key: { type: 'positional', required: true, description: 'The license key, as a person may type it.' },
} as const

const resellerOption = {
  reseller: { type: 'string', valueHint: 'ID', description: "Only this reseller's." },
} as const

export const license: AnyCommand = {
  commands: {
    get: command({
      description: 'Show a license.',
      args: { ...keyArgument, ...keyPrefixOption, ...adminOptions },
      examples: ['license get LIC-75XVC-XCH31-DRPY0-5VTSW-B1ZKR --database utility.sqlite'],
      run: ({ key, json, ...args }) =>
        withAdminOf(args, async (admin) => {
          const found = await admin.getLicense(key)
          if (found === null) throw noLicense()
          if (json === true) printJson(withTimeTexts(found))
          else printFields(readable(found), false)
        }),
    }),

    set: command({
      description: 'Change a license, whoever owns it.',
      args: {
        ...keyArgument,
        status: { type: 'string', valueHint: 'STATUS', description: 'valid, invalid, or one of --statuses.' },
        'registered-to': { type: 'string', valueHint: 'NAME', description: 'Name of the registered user.' },
        'domain-or-ip': {
          type: 'string',
          valueHint: 'HOST',
          description: 'Domain or IP address it is bound to.',
        },
        reseller: {
          type: 'string',
          valueHint: 'ID',
          description: 'The reseller who owns it from now on.',
        },
        ...licenseOptions,
        ...adminOptions,
      },
      examples: [
        'license set LIC-75XVC-XCH31-DRPY0-5VTSW-B1ZKR --status invalid --database utility.sqlite',
        'license set LIC-75XVC-XCH31-DRPY0-5VTSW-B1ZKR --reseller ID --database utility.sqlite',
      ],
      run: ({ key, status, reseller: resellerId, json, ...args }) => {
        const change = given({
          status,
          registeredTo: args['registered-to'],
          domainOrIp: args['domain-or-ip'],
          resellerId,
        })
        if (Object.keys(change).length === 0) {
          throw new UsageError('Give --status, --registered-to, --domain-or-ip or --reseller.')
        }
        return withAdminOf(args, async (admin) => {
          if (!(await admin.updateLicense(key, change))) throw noLicense()
          printFields({ updated: key }, json)
        })
      },
    }),

    delete: command({
      description: 'Delete a license for good.',
      args: { ...keyArgument, ...keyPrefixOption, ...adminOptions },
      examples: ['license delete LIC-75XVC-XCH31-DRPY0-5VTSW-B1ZKR --database utility.sqlite'],
      run: ({ key, json, ...args }) =>
        withAdminOf(args, async (admin) => {
          if (!(await admin.deleteLicense(key))) throw noLicense()
          printFields({ deleted: key }, json)
        }),
    }),

    list: command({
      description: 'List licenses, oldest first.',
      args: { ...resellerOption, ...pageOptions, ...adminOptions },
      examples: ['license list --limit 10 --database utility.sqlite', 'license list --reseller ID --json'],
      run: ({ reseller: resellerId, ...args }) =>
        withAdmin(args, (admin) =>
          printPage('licenses', args, (page) => admin.listLicenses({ ...given({ resellerId }), ...page }), {
            heading: ['KEY', 'STATUS', 'DOMAIN OR IP', 'REGISTERED TO', 'RESELLER'],
            cells: (row) => [row.licenseKey, row.status, row.domainOrIp, row.registeredTo, row.resellerId],
          }),
        ),
    }),

    count: command({
      description: 'Count licenses.',
      args: { ...resellerOption, ...adminOptions },
      examples: ['license count --database utility.sqlite', 'license count --reseller ID --json'],
      run: ({ reseller: resellerId, database, storage, json }) =>
        withAdmin({ database, storage }, async (admin) => {
          const count = (): Promise<number> => admin.countLicenses(given({ resellerId }))
          printFields({ licenses: await withProgress('Counting', count) }, json)
        }),
    }),
  },
  examples: ['license list --limit 10', 'license get KEY', 'license set KEY --status invalid'],
}

/** Like `withAdmin`, with the rules of the service's licenses. */
function withAdminOf<Value>(
  args: Where & GivenLicenseOptions,
  work: (admin: Admin) => Promise<Value>,
): Promise<Value> {
  return withAdmin(args, work, licenseRules(args))
}

function readable(found: License): Record<string, string> {
  const { licenseKey, registeredTo, domainOrIp, status, resellerId, createdAt, updatedAt } = found
  const times = { createdAt: timeText(createdAt), updatedAt: timeText(updatedAt) }
  return { licenseKey, registeredTo, domainOrIp, status, resellerId, ...times }
}

function noLicense(): Error {
  return new Error('There is no license with this key.')
}
