import { createPrivateKey, type KeyObject } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { UsageError } from '../terminal/command.ts'
import { printLogLine } from '../terminal/output.ts'

const openToEverybody =
  'Everybody on this machine can read or change the file of --signing-key. Make a new key, and run chmod 600 on its file.'

/**
 * Reads a private key from a file. No message repeats the file's name, because the key itself may have been pasted in
 * its place.
 */
export function signingKeyIn(file: string): KeyObject {
  const text = textOf(file)
  // Windows has no such rights, and shows all files as 666. Not refused: secrets of containers are files of mode 444.
  if (process.platform !== 'win32' && (statSync(file).mode & 0o007) !== 0) printLogLine(openToEverybody)
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
