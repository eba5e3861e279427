import { command, type AnyCommand } from './command.ts'
import { databaseOption, openDatabase } from './database.ts'

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
