import type { Admin } from 'utility-api'
import { command, UsageError, type AnyCommand } from '../terminal/command.ts'
import { adminOptions, withAdmin, type Where } from '../database/database.ts'
import { licenseOptions, licenseRules } from '../terminal/license-options.ts'
import { dateOf, dateOption, given } from '../terminal/option-values.ts'
import { printFields, withTimeTexts } from '../terminal/output.ts'
import { keyArgument, noLicense } from './license-key.ts'
import { count, list } from './license-list.ts'
import { jwks, sign } from './license-sign.ts'

const registeredTo = {
  type: 'string',
  valueHint: 'NAME',
  description: 'Name of the registered user.',
} as const

const domainOrIp = {
  type: 'string',
  valueHint: 'HOST',
  description: 'Domain or IP address it is bound to.',
} as const

export const license: AnyCommand = {
  commands: {
    create: command({
      description: 'Create a license for a reseller and print it.',
      args: {
        reseller: {
          type: 'string',
          required: true,
          valueHint: 'ID',
          description: 'The reseller who owns it.',
        },
        'registered-to': { ...registeredTo, required: true },
        'domain-or-ip': { ...domainOrIp, required: true },
        status: {
          type: 'string',
          valueHint: 'STATUS',
          description: 'valid, invalid, or one of --statuses. Default: the first.',
        },
        reference: {
          type: 'string',
          valueHint: 'TEXT',
          description:
            'What it is sold for, such as a payment: the same text gives the same license for ever.',
        },
        ends: { ...dateOption, description: 'When it ends. Default: never.' },
        ...licenseOptions,
        ...adminOptions,
      },
      examples: [
        'license create --reseller ID --registered-to "Ada Lovelace" --domain-or-ip shop.example --database utility.sqlite',
        'license create --reseller ID --registered-to Ada --domain-or-ip 192.0.2.7 --reference payment-4711 --ends 2027-01-31',
      ],
      run: ({ reseller: resellerId, status, reference, json, ...args }) =>
        withAdminOf(args, async (admin) => {
          const created = await admin.createLicense({
            resellerId,
            registeredTo: args['registered-to'],
            domainOrIp: args['domain-or-ip'],
            ...given({ status, reference, expiresAt: dateOf('ends', args.ends) }),
          })
          printFields(withTimeTexts(created), json)
        }),
    }),

    get: command({
      description: 'Show a license.',
      args: { ...keyArgument, 'key-prefix': licenseOptions['key-prefix'], ...adminOptions },
      examples: ['license get LIC-75XVC-XCH31-DRPY0-5VTSW-B1ZKR --database utility.sqlite'],
      run: ({ key, json, ...args }) =>
        withAdminOf(args, async (admin) => {
          const found = await admin.getLicense(key)
          if (found === null) throw noLicense(key, args['key-prefix'])
          printFields(withTimeTexts(found), json)
        }),
    }),

    set: command({
      description: 'Change a license, whoever owns it.',
      args: {
        ...keyArgument,
        status: { type: 'string', valueHint: 'STATUS', description: 'valid, invalid, or one of --statuses.' },
        'registered-to': registeredTo,
        'domain-or-ip': domainOrIp,
        reseller: {
          type: 'string',
          valueHint: 'ID',
          description: 'The reseller who owns it from now on.',
        },
        reference: {
          type: 'string',
          valueHint: 'TEXT',
          mayBeEmpty: true,
          description: "What it was sold for; '' for nothing.",
        },
        ends: { ...dateOption, mayBeEmpty: true, description: "When it ends; '' for never." },
        ...licenseOptions,
        ...adminOptions,
      },
      examples: [
        'license set LIC-75XVC-XCH31-DRPY0-5VTSW-B1ZKR --status invalid --database utility.sqlite',
        'license set LIC-75XVC-XCH31-DRPY0-5VTSW-B1ZKR --reseller ID --database utility.sqlite',
      ],
      run: ({ key, status, reseller: resellerId, reference, ends, json, ...args }) => {
        const change = given({
          status,
          registeredTo: args['registered-to'],
          domainOrIp: args['domain-or-ip'],
          resellerId,
          reference: reference === '' ? null : reference,
          expiresAt: ends === '' ? null : dateOf('ends', ends),
        })
        if (Object.keys(change).length === 0) {
          throw new UsageError(
            'Give --status, --registered-to, --domain-or-ip, --reseller, --reference or --ends.',
          )
        }
        return withAdminOf(args, async (admin) => {
          if (!(await admin.updateLicense(key, change))) throw noLicense(key, args['key-prefix'])
          printFields({ updated: key }, json)
        })
      },
    }),

    delete: command({
      description: 'Delete a license for good.',
      args: { ...keyArgument, 'key-prefix': licenseOptions['key-prefix'], ...adminOptions },
      examples: ['license delete LIC-75XVC-XCH31-DRPY0-5VTSW-B1ZKR --database utility.sqlite'],
      run: ({ key, json, ...args }) =>
        withAdminOf(args, async (admin) => {
          if (!(await admin.deleteLicense(key))) throw noLicense(key, args['key-prefix'])
          printFields({ deleted: key }, json)
        }),
    }),

    list,
    count,
    sign,
    jwks,
  },
  examples: [
    'license list --limit 10',
    'license list --domain shop.example',
    'license get KEY',
    'license set KEY --status invalid',
  ],
}

/** Like `withAdmin`, with the rules of the service's licenses. */
function withAdminOf(
  args: Where & Parameters<typeof licenseRules>[0],
  work: (admin: Admin) => Promise<void>,
): Promise<void> {
  return withAdmin(args, work, licenseRules(args))
}
