import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { AdminStorage, MaybePromise, MigrationResult } from 'utility-api/storage'
import type { Redact } from './redact.ts'

/** A storage that the command opens and closes. */
export interface OpenDatabase {
  /** `migrate` is missing if the owner's module has none, and may resolve to nothing. */
  readonly storage: AdminStorage & { migrate?(): MaybePromise<Partial<MigrationResult> | void> }
  /** The name to use in messages if the storage's own messages do not say it. */
  readonly name?: string
  /** Applies to every error of this storage before it is printed. */
  readonly redact?: Redact
  close(): Promise<void>
}

/** How long a connection may take to open, and then a statement on it, in milliseconds. */
export interface TimeLimits {
  readonly connectMs: number
  readonly statementMs: number
}

/**
 * The limits for requests. Together they are less than a request waits for its storage (`storageTimeoutMs`). A
 * statement that had to wait for its connection could otherwise still write after its client was told that it failed.
 */
export const requestLimits: TimeLimits = { connectMs: 1500, statementMs: 2400 }

/**
 * The limits for commands. Together they are less than a call of `Admin` waits, which is 30 seconds, because counting
 * millions of licenses takes longer than a request may.
 */
export const commandLimits: TimeLimits = { connectMs: 5000, statementMs: 20_000 }

/**
 * Finds a driver next to this package or in the folder that UTILITY_API_DRIVERS names, or returns null.
 *
 * Never looks in the current folder, because anyone who can put files there could make the command run their code.
 */
export function resolvePackage(name: string): string | null {
  const require = createRequire(import.meta.url)
  const named = process.env['UTILITY_API_DRIVERS']
  const paths = named === undefined || named === '' ? [] : [resolve(named)]
  try {
    return pathToFileURL(require.resolve(name, { paths: [import.meta.dirname, ...paths] })).href
  } catch {
    return null
  }
}
