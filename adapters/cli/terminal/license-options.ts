import type { LicenseOptions } from 'utility-api'
import { given, list } from './option-values.ts'

/** The option of every command that reads the statuses of licenses. */
export const statusesOption = {
  statuses: {
    type: 'string',
    valueHint: 'A,B,…',
    description: 'The statuses that licenses can have. Default: valid,invalid.',
  },
} as const

/** The option of every command that reads a license key. */
export const keyPrefixOption = {
  'key-prefix': {
    type: 'string',
    valueHint: 'TEXT',
    mayBeEmpty: true,
    description: 'What license keys begin with. Default: LIC-.',
  },
} as const

const wildcardsOption = {
  wildcards: { type: 'boolean', description: 'Licenses may be for *.example.com.' },
} as const

/** The rules for a service's licenses, for every command that changes their fields. */
export const licenseOptions: typeof statusesOption & typeof keyPrefixOption & typeof wildcardsOption = {
  ...statusesOption,
  ...keyPrefixOption,
  ...wildcardsOption,
}

/** The rules as given on the command line. */
export interface GivenLicenseOptions {
  readonly statuses?: string | undefined
  readonly 'key-prefix'?: string | undefined
  readonly wildcards?: boolean | undefined
}

/** Returns the rules as the library expects them. */
export function licenseRules(args: GivenLicenseOptions): LicenseOptions {
  const { statuses, 'key-prefix': keyPrefix, wildcards: allowWildcards } = args
  return given({ statuses: statuses === undefined ? statuses : list(statuses), keyPrefix, allowWildcards })
}
