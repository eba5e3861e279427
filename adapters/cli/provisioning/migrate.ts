import { command, type AnyCommand } from '../terminal/command.ts'
import { databaseOptions, withDatabase } from '../database/database.ts'

export const migrate: AnyCommand = command({
  args: databaseOptions,
  examples: ['migrate --database utility.sqlite', 'migrate --database postgres://user@host/name'],
  run: (where) =>
    withDatabase({ ...where, create: true }, async (storage) => {
      if (storage.migrate === undefined)
        return console.log('This storage has no migrate(): there is nothing to do.')
      await storage.migrate()
      console.log('The database is up to date.')
    }),
})
