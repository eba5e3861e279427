import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'

const codes: ReadonlySet<unknown> = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM'])

/** Tells whether a socket's error is the fault of this machine alone: it has no file descriptor or no memory left. */
export function isLocalFailure(error: unknown): boolean {
  const code = codeOf(error)
  // Bun says that a server refused what had no descriptor here.
  return codes.has(code) || (code === 'ECONNREFUSED' && 'Bun' in globalThis && !canOpenFile())
}

/** Tells whether this machine did not let a packet out. A firewall here does that, for one address or for all. */
export function isForbidden(error: unknown): boolean {
  return codeOf(error) === 'EPERM'
}

function codeOf(error: unknown): unknown {
  return error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined
}

function canOpenFile(): boolean {
  try {
    closeSync(openSync(devNull, 'r'))
    return true
  } catch {
    return false
  }
}
