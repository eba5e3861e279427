import type { AdminStorage } from 'utility-api/storage'

/** A storage that the command opened, and closes. */
export interface OpenDatabase {
  /** `migrate` is missing where a module of the owner's has none. */
  readonly storage: AdminStorage & { migrate?(): Promise<void> | void }
  /** What a message calls it, where the storage's own messages do not. */
  readonly name?: string
  close(): Promise<void>
}
