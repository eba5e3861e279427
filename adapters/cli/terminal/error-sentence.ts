import type { UtilityApiError } from 'utility-api'

// Maps the library's names for options and arguments to flags and words of the command line.
const flags: Readonly<Record<string, string>> = {
  audience: '--audience',
  basePath: '--prefix',
  clientId: 'The id of a client',
  codeChallenge: '--challenge',
  'licenses.issuer': '--issuer',
  'licenses.keyPrefix': '--key-prefix',
  'licenses.signingKey': '--signing-key',
  'licenses.statuses': '--statuses',
  domainOrIp: '--domain-or-ip',
  endsBefore: '--ends-before',
  endsFrom: '--ends-from',
  name: '--name',
  ownerId: '--owner',
  permissions: '--permissions',
  redirectUri: '--redirect-uri',
  redirectUris: 'REDIRECT_URI',
  reference: '--reference',
  registeredTo: '--registered-to',
  resellerId: 'The id of a reseller',
  scope: '--scope',
  status: '--status',
  subject: '--subject',
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

/** Returns what the command prints for an error. */
export function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (isUtilityApiError(error)) {
    const sentence = sentenceOnId(error)
    if (sentence !== null) return sentence.replace(/^t/, 'T')
    return error.message.replace(
      /^(\w+(?:\.[a-z]+)*)(?:\.\d+)*/i,
      (path, name: string) => flags[name] ?? path,
    )
  }
  return error.message
}
