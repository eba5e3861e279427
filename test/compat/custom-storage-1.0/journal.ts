/**
 * One file that only grows: the part of this example that uses the disk.
 *
 * A line is a transaction: all of its changes or, if a crash cut the line off, none of them. Replace this file with
 * your database's client.
 */
import { open, readFile, truncate, type FileHandle } from 'node:fs/promises'
import { StorageError } from 'utility-api/storage'

/** A row stored under a key, or a deleted key. */
export type Change = readonly [table: string, key: string, row: object | null]

export interface Journal {
  /** Writes changes as one transaction. Resolves when they and everything before them are on disk. */
  commit(changes: readonly Change[]): Promise<void>
  /** Closes the journal. Resolves when everything committed so far is on disk. */
  close(): Promise<void>
}

/** Opens the file, passes its contents to `apply`, and appends from there. For one process at a time. */
export async function openJournal(path: string, apply: (change: Change) => void): Promise<Journal> {
  const handle = await open(path, 'a')
  await recover(path, apply)
  return createJournal(handle)
}

async function recover(path: string, apply: (change: Change) => void): Promise<void> {
  const bytes = await readFile(path)
  // Anything after the last line feed was being written at the time of a crash: nobody was told that it was done.
  const end = bytes.lastIndexOf('\n') + 1
  for (const line of bytes.subarray(0, end).toString().split('\n')) {
    if (line !== '') (JSON.parse(line) as Change[]).forEach(apply)
  }
  await truncate(path, end)
}

function createJournal(handle: FileHandle): Journal {
  let lines: string[] = []
  let writing = Promise.resolve()
  let broken: StorageError | undefined

  async function write(): Promise<void> {
    if (broken !== undefined) throw broken
    const batch = lines.join('')
    lines = []
    if (batch === '') return
    try {
      await handle.appendFile(batch)
      await handle.datasync()
    } catch (cause) {
      // Memory is now ahead of the disk. Going on would acknowledge changes that a restart loses.
      broken = new StorageError('unavailable', 'The journal cannot be written.', { cause })
      throw broken
    }
  }

  return {
    commit(changes) {
      if (changes.length > 0) lines.push(`${JSON.stringify(changes)}\n`)
      // All commits that arrive during one write share the next one.
      writing = writing.catch(() => {}).then(write)
      return writing
    },
    async close() {
      await writing.catch(() => {})
      await handle.close()
    },
  }
}
