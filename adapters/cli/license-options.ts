import type { LicenseOptions } from 'utility-api'
import { given, list } from './option-values.ts'

/** The rules for a service's licenses, for every command that reads or changes them. */
export const licenseOptions = {
  statuses: {
    type: 'string',
    valueHint: 'A,B,…',
    description: 'The statuses that licenses can have. Default: valid,invalid.',
  },
  'key-prefix': {
    type: 'string',
    valueHint: 'TEXT',
    description: 'What license keys begin with. Default: LIC-.',
  },
  wildcards: { type: 'boolean', description: 'Licenses may be for *.example.com.' },
} as const

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
