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
  /** Closes what the storage leaves open, once that is closed. */
  close?(): Promise<void> | void
}

/** Loads a driver that the owner installs, or says how to. */
export async function importDriver(specifier: string, product: string): Promise<unknown> {
  const path = resolvePackage(specifier)
  if (path !== null) return import(path)
  const [name] = specifier.split('/')
  throw new Error(
    `${product} needs a driver. Install it next to utility-api with: npm install ${name}\n` +
      'Or set UTILITY_API_DRIVERS to the folder of a project that has it.',
  )
}

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
