import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createAdmin } from 'utility-api'
import { UsageError } from '../terminal/command.ts'
import type { OpenDatabase } from './drivers.ts'
import { isLikeConnection } from './location.ts'

/** Opens the storage that the owner's module creates. */
export async function openStorageModule(path: string): Promise<OpenDatabase> {
  const make = await defaultExportOf(path)
  if (typeof make !== 'function')
    throw new UsageError(
      `--storage: the default export of ${path} must be a function that returns an AdminStorage.`,
    )
  const storage = (await callOf(path, make as Maker)) as OpenDatabase['storage']
  requireMethods(path, storage)
  return { storage, name: path }
}

type Maker = () => unknown

async function defaultExportOf(path: string): Promise<unknown> {
  const file = resolve(path)
  if (!existsSync(file))
    throw new UsageError(`--storage: there is no file ${isLikeConnection(path) ? 'of this name' : path}.`)
  try {
    return ((await import(pathToFileURL(file).href)) as { default?: unknown }).default
  } catch (error) {
    throw failed(`${path} cannot be loaded`, error)
  }
}

async function callOf(path: string, make: Maker): Promise<unknown> {
  try {
    return await make()
  } catch (error) {
    throw failed(`the default export of ${path} failed`, error)
  }
}

function failed(what: string, cause: unknown): Error {
  const message = cause instanceof Error ? cause.message : String(cause)
  return new Error(`--storage: ${what}: ${message}`, { cause })
}

/** Reports missing methods now, not when they are first needed. */
function requireMethods(path: string, storage: OpenDatabase['storage']): void {
  const made = `--storage: what ${path} returns is not an AdminStorage`
  if (typeof storage !== 'object' || storage === null)
    throw new UsageError(`${made}: it is ${String(storage)}.`)
  try {
    createAdmin({ storage })
  } catch (error) {
    const [, problem] = /^storage: (.*)$/s.exec((error as Error).message) ?? []
    throw problem === undefined ? error : new UsageError(`${made}: it ${problem}`)
  }
}
