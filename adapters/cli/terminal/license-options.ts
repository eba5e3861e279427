import type { LicenseOptions } from 'utility-api'
import type { Values } from './command.ts'
import { given, list } from './option-values.ts'

/** The rules for a service's licenses, for every command that changes their fields. */
export const licenseOptions = {
  statuses: {
    type: 'string',
    valueHint: 'A,B,…',
    description: 'The statuses that licenses can have. Default: valid,invalid.',
  },
  'key-prefix': {
    type: 'string',
    valueHint: 'TEXT',
    mayBeEmpty: true,
    description: 'What license keys begin with. Default: LIC-.',
  },
  wildcards: { type: 'boolean', description: 'Licenses may be for *.example.com.' },
} as const

/** Returns the rules as the library expects them. */
export function licenseRules(args: Partial<Values<typeof licenseOptions>>): LicenseOptions {
  const { statuses, 'key-prefix': keyPrefix, wildcards: allowWildcards } = args
  return given({ statuses: statuses === undefined ? statuses : list(statuses), keyPrefix, allowWildcards })
}
