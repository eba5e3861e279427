import { command, type AnyCommand } from '../terminal/command.ts'
import { databaseOptions, withDatabase } from '../database/database.ts'
import { printLogLine } from '../terminal/output.ts'
import { withProgress } from '../terminal/progress.ts'

export const migrate: AnyCommand = command({
  args: databaseOptions,
  examples: ['migrate --database utility.sqlite', 'migrate --database postgres://user@host/name'],
  run: (where) =>
    withDatabase({ ...where, create: true }, async (storage) => {
      if (storage.migrate === undefined)
        return console.log('This storage has no migrate(): there is nothing to do.')
      const result = await withProgress('Updating the tables', async () => storage.migrate?.())
      console.log(sentenceOf(result?.changed))
      for (const warning of result?.warnings ?? []) printLogLine(`Warning: ${warning}`)
    }),
})

/** A storage of the owner's need not tell what its `migrate()` did. */
function sentenceOf(changed: boolean | undefined): string {
  if (changed === undefined) return 'The database is up to date.'
  return changed ? 'The database has been brought up to date.' : 'The database was up to date already.'
}
