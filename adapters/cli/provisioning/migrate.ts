import { command, type AnyCommand } from '../terminal/command.ts'
import { databaseOptions, withDatabase } from '../database/database.ts'
import { withProgress } from '../terminal/progress.ts'

export const migrate: AnyCommand = command({
  args: databaseOptions,
  examples: ['migrate --database utility.sqlite', 'migrate --database postgres://user@host/name'],
  run: (where) =>
    withDatabase({ ...where, create: true }, async (storage) => {
      if (storage.migrate === undefined)
        return console.log('This storage has no migrate(): there is nothing to do.')
      await withProgress('Updating the tables', async () => storage.migrate?.())
      console.log('The database is up to date.')
    }),
})
