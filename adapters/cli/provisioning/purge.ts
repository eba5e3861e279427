import { command, type AnyCommand } from '../terminal/command.ts'
import { adminOptions, withAdmin } from '../database/database.ts'
import { printFields } from '../terminal/output.ts'
import { withProgress } from '../terminal/progress.ts'

export const purge: AnyCommand = command({
  args: adminOptions,
  examples: ['purge --database utility.sqlite'],
  run: ({ database, storage, json }) =>
    withAdmin({ database, storage }, async (admin) => {
      const deleted = await withProgress('Deleting what has expired', admin.purgeExpired)
      printFields({ ...deleted }, json)
    }),
})
