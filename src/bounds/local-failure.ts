const codes: ReadonlySet<unknown> = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM'])
/** What the system says of a name, and Bun of a server, that it had no descriptor to ask with. */
const doubtful: ReadonlySet<unknown> = new Set([
  'EAI_AGAIN',
  'ENOTFOUND',
  ...('Bun' in globalThis ? ['ECONNREFUSED'] : []),
])

/**
 * Tells whether a socket's error is the fault of this machine alone, because it has no file descriptor or no memory
 * left.
 */
export function isLocalFailure(error: unknown): boolean {
  const code = codeOf(error)
  return codes.has(code) || (doubtful.has(code) && !canOpenFile())
}

/** Tells whether this machine did not let a packet out. A firewall here does that, for one address or for all. */
export function isForbidden(error: unknown): boolean {
  return codeOf(error) === 'EPERM'
}

function codeOf(error: unknown): unknown {
  return error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined
}

function canOpenFile(): boolean {
  // An import loads the promises of `fs` too, which takes a twentieth of the time that the library takes to load.
  const { closeSync, openSync } = process.getBuiltinModule('node:fs')
  try {
    closeSync(openSync(process.getBuiltinModule('node:os').devNull, 'r'))
    return true
  } catch {
    return false
  }
}
