import { StorageError } from 'utility-api/storage'

/** The storage error that work ends with. Throws where it ends with another, or with none. */
export async function errorOf(work: () => unknown): Promise<StorageError> {
  try {
    await work()
  } catch (error) {
    if (error instanceof StorageError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}
