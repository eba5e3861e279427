import { execFileSync } from 'node:child_process'
import { chownSync, mkdtempSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

export interface User {
  readonly uid: number
  readonly gid: number
}

/** Whom a server runs as that refuses to run as root: the first of these users that exists; nobody else where we are not root. */
export function serverUser(...names: readonly string[]): User | undefined {
  if (process.getuid?.() !== 0) return undefined
  const found = [...names, 'nobody'].map(idsOf).find((user) => user !== undefined)
  if (found === undefined) throw new Error(`There is no user ${names.join(' or ')} to run a server as.`)
  return found
}

function idsOf(name: string): User | undefined {
  const id = (option: string): number =>
    Number(execFileSync('id', [option, name], { stdio: ['ignore', 'pipe', 'ignore'] }))
  try {
    return { uid: id('-u'), gid: id('-g') }
  } catch {
    return undefined
  }
}

/** Whether a user may enter a folder and all those above it, as the home of root lets none but root. */
export function canReach(path: string, user: User | undefined): boolean {
  if (user === undefined) return true
  const { mode, uid, gid } = statSync(path, { throwIfNoEntry: false }) ?? { mode: 0, uid: 0, gid: 0 }
  const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001
  return (mode & bit) !== 0 && (dirname(path) === path || canReach(dirname(path), user))
}

/** A new temporary folder that belongs to a user and that this user can reach. */
export function makeFolderFor(user: User | undefined, prefix: string): string {
  const above = [tmpdir(), '/tmp', '/var/tmp', '/dev/shm'].find((folder) => canReach(folder, user))
  if (above === undefined)
    throw new Error(`${tmpdir()} cannot be reached by user ${user?.uid}; name another with TMPDIR.`)
  const folder = mkdtempSync(join(above, prefix))
  if (user !== undefined) chownSync(folder, user.uid, user.gid)
  return folder
}
