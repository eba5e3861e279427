/**
 * One file that only grows: the part of this example that knows the disk.
 *
 * A line is a transaction: all its changes or, torn by a crash, none. Replace this file by your database's client.
 */
import { open, readFile, truncate, type FileHandle } from 'node:fs/promises'
import { StorageError } from 'utility-api/storage'

/** A row put under a key, or a key deleted. */
export type Change = readonly [table: string, key: string, row: object | null]

export interface Journal {
  /** Writes changes as one transaction; resolves when they, and everything before them, are on the disk. */
  commit(changes: readonly Change[]): Promise<void>
  /** Resolves when everything committed so far is on the disk. */
  close(): Promise<void>
}

/** Opens the file, hands what stands in it to `apply`, and appends from there. For one process at a time. */
export async function openJournal(path: string, apply: (change: Change) => void): Promise<Journal> {
  const handle = await open(path, 'a')
  await recover(path, apply)
  return createJournal(handle)
}

async function recover(path: string, apply: (change: Change) => void): Promise<void> {
  const bytes = await readFile(path)
  // What follows the last line feed was being written when the plug was pulled: nobody was told that it was done.
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
      // Memory is ahead of the disk now. Going on would acknowledge what a restart forgets.
      broken = new StorageError('unavailable', 'The journal cannot be written.', { cause })
      throw broken
    }
  }

  return {
    commit(changes) {
      if (changes.length > 0) lines.push(`${JSON.stringify(changes)}\n`)
      // Everyone who commits while one write is under way shares the next one.
      writing = writing.catch(() => {}).then(write)
      return writing
    },
    async close() {
      await writing.catch(() => {})
      await handle.close()
    },
  }
}
