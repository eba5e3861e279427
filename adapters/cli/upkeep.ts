import { command, group, integer, type AnyCommand } from './command.ts'
import { databaseOption, openDatabase, withAdmin } from './database.ts'
import { jsonOption, printable, printFields, printJson, tableLines } from './output.ts'

const shared = { ...databaseOption, ...jsonOption } as const

export const migrate: AnyCommand = command({
  description: 'Create the tables, or bring them up to date.',
  args: databaseOption,
  examples: [
    'migrate --database utility.sqlite',
    'migrate    # with UTILITY_API_DATABASE=postgres://user:password@host/name',
  ],
  async run({ database }) {
    const { storage, close } = await openDatabase(database, { create: true })
    try {
      await storage.migrate()
      console.log('The database is up to date.')
    } finally {
      await close()
    }
  },
})

export const license: AnyCommand = group('Licences: list.', {
  list: command({
    description: 'List licences, oldest first.',
    args: {
      reseller: { type: 'string', valueHint: 'ID', description: "Only this reseller's." },
      limit: { type: 'string', default: '50', valueHint: 'N', description: 'How many; at most 1000.' },
      after: { type: 'string', valueHint: 'PLACE', description: 'Go on from where the last list ended.' },
      ...shared,
    },
    examples: ['license list --limit 10 --database utility.sqlite', 'license list --reseller ID --json'],
    run: ({ reseller, limit, after, database, json }) =>
      withAdmin(database, async (admin) => {
        const { licenses, next } = await admin.listLicenses({
          limit: integer('limit', limit, 1, 1000),
          ...(reseller !== undefined && { resellerId: reseller }),
          ...(after !== undefined && { after }),
        })
        if (json === true) return printJson({ licenses, ...(next !== undefined && { next }) })
        const rows = licenses.map(({ licenseKey, status, domainOrIp, registeredTo, resellerId }) =>
          [licenseKey, status, domainOrIp, registeredTo, resellerId].map(printable),
        )
        const heading = ['KEY', 'STATUS', 'DOMAIN OR IP', 'REGISTERED TO', 'RESELLER']
        console.log(tableLines(heading, rows).join('\n'))
        if (next !== undefined) console.error(`There are more: go on with --after ${next}`)
      }),
  }),
})

export const purge: AnyCommand = command({
  description: 'Delete expired codes, tokens and idempotency keys. Run it daily.',
  args: shared,
  examples: ['purge --database utility.sqlite'],
  run: ({ database, json }) =>
    withAdmin(database, async (admin) => printFields({ ...(await admin.purgeExpired()) }, json)),
})
