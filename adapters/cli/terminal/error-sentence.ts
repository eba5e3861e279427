import type { UtilityApiError } from 'utility-api'
import { shownName } from './arguments.ts'
import type { ArgDefs } from './command.ts'

/** What the command line calls otherwise than the library. All other options have the names of their arguments. */
const otherNames: Readonly<Record<string, string>> = {
  basePath: '--prefix',
  clientId: 'The id of a client',
  clientSubnet: '--subnet',
  codeChallenge: '--challenge',
  expected: '--expect',
  ownerId: '--owner',
  redirectUris: 'REDIRECT_URI',
  resellerId: 'The id of a reseller',
}

/**
 * Returns what an error says about the id of a client or a reseller that is unknown or taken, or null for any other
 * error. The library reports it like a wrong argument.
 */
export function sentenceOnId({ message }: UtilityApiError): string | null {
  return /^(?:client|reseller)Id: (.*)$/s.exec(message)?.[1] ?? null
}

/** Tells the library's errors by their name, because without one, nothing has loaded the library. */
export function isUtilityApiError(error: unknown): error is UtilityApiError {
  return error instanceof Error && error.name === 'UtilityApiError'
}

/** Returns what a command with these arguments prints for an error. */
export function sentenceOf(error: unknown, args: ArgDefs = {}): string {
  if (!(error instanceof Error)) return String(error)
  if (isUtilityApiError(error)) {
    const sentence = sentenceOnId(error)
    if (sentence !== null) return sentence.replace(/^t/, 'T')
    return error.message.replace(/^(?:\w+\.)*([a-z]+)(?:\.\d+)*/i, (path, name: string) => {
      const flag = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
      const def = args[flag]
      return otherNames[name] ?? (def === undefined ? path : shownName(flag, def))
    })
  }
  return error.message
}
