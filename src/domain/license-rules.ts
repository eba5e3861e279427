import { hasAtMostCodePoints, isPlainText } from './header-text.ts'
import { parseHostName } from './host-name.ts'
import { parseIpAddress } from './ip-address.ts'

/** What the licenses of a service may contain. */
export interface LicenseRules {
  readonly keyPrefix: string
  readonly statuses: readonly string[]
  readonly allowWildcards: boolean
}

/** Tells whether a text can be the name of a status. */
export function isStatus(text: string): boolean {
  return /^[\x21-\x7e]{1,64}$/.test(text)
}

/** Returns what is wrong with a text of a license, or null. The text must be plain and have 1 to 255 characters. */
export function problemOfLicenseText(text: string): string | null {
  if (text === '') return 'must not be empty'
  if (!isPlainText(text)) return 'must not contain control or bidirectional formatting characters'
  return hasAtMostCodePoints(text, 255) ? null : 'must have at most 255 characters'
}

/** Returns what is wrong with the text a license is bound to, or null. It must be a host name or an IP address. */
export function problemOfDomainOrIp(text: string, { allowWildcards }: LicenseRules): string | null {
  const problem = problemOfLicenseText(text)
  if (problem !== null) return problem
  const name = allowWildcards && text.startsWith('*.') ? text.slice(2) : text
  // Names first: most texts are names, and no address is one.
  if (parseHostName(name, { underscores: true }) !== null || parseIpAddress(text) !== null) return null
  return 'must be a host name or an IP address, without scheme, port or path'
}
