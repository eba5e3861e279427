import { randomKeys } from 'utility-api'

/** The word of every command about one license. */
export const keyArgument = {
  key: { type: 'positional', required: true, description: 'The license key, as a person may type it.' },
} as const

/** Tells a key that nobody was ever given from one that may be deleted or in another database. */
export function noLicense(key: string, prefix = 'LIC-'): Error {
  const isMistyped = randomKeys().parseLicenseKey(key.trim(), prefix) === null
  return new Error(
    isMistyped
      ? 'There is no license with this key: it was changed or mistyped.'
      : 'There is no license with this key.',
  )
}
