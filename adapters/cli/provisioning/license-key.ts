/** The word of every command about one license. */
export const keyArgument = {
  key: { type: 'positional', required: true, description: 'The license key, as a person may type it.' },
} as const

export function noLicense(): Error {
  return new Error('There is no license with this key.')
}
