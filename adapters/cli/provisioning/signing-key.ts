import { createPrivateKey, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { UsageError } from '../terminal/command.ts'

/**
 * Reads a private key from a file. No message repeats the file's name: the key itself may have been pasted in its place.
 */
export function signingKeyIn(file: string): KeyObject {
  const text = textOf(file)
  try {
    return createPrivateKey(text)
  } catch {
    throw new UsageError(
      'The file of --signing-key must have a private key in PEM form, without a passphrase.',
    )
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    throw new UsageError(`--signing-key must be the name of a file that can be read (${code}).`)
  }
}
