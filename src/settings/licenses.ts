import type { KeyObject } from 'node:crypto'
import * as z from 'zod'
import { exactObject, harmless } from '../domain/exact-object.ts'
import { isStringOrUri, licenseSigner, problemOfSigningKey } from '../domain/license-jws.ts'
import { isStatus } from '../domain/license-rules.ts'
import type { LicenseOptions } from '../options.ts'
import type { SigningSettings } from '../security/license-signing.ts'

/** The rules of licenses. */
export type LicenseRuleSettings = Required<Omit<LicenseOptions, 'issuer' | 'signingKey'>>

/** The settings of the license operations, and what licenses are signed with. */
export type LicenseSettings = LicenseRuleSettings & { readonly signing?: SigningSettings | undefined }

/** One key or a list of them, as a list. */
const signingKey = z.unknown().transform((value, context): SigningSettings['keys'] => {
  const keys: unknown[] = Array.isArray(value) ? value : [value]
  const refuse = (message: string, path: number[] = []): never => {
    context.addIssue({ code: 'custom', path, message })
    return z.NEVER
  }
  for (const [index, key] of keys.entries()) {
    const problem = problemOfSigningKey(key)
    if (problem !== null) return refuse(problem, keys === value ? [index] : [])
  }
  const [first, ...others] = keys as KeyObject[]
  if (first === undefined) return refuse('must have at least one key')
  const kids = new Set([first, ...others].map((key) => licenseSigner(key).jwk.kid))
  return kids.size < keys.length ? refuse('has the same key twice') : [first, ...others]
})

const options = exactObject(
  {
    keyPrefix: z
      .string()
      .regex(/^[\w.~-]{0,64}$/, 'must have at most 64 of the characters A-Z a-z 0-9 _ . ~ -')
      .default('LIC-')
      .register(harmless),
    statuses: z
      .array(z.string().refine(isStatus, 'must be 1 to 64 visible ASCII characters'))
      .min(1)
      .default(['valid', 'invalid'])
      .register(harmless),
    allowWildcards: z.boolean().default(false).register(harmless),
    issuer: z
      .custom<string>(isStringOrUri, 'must be 1 to 255 visible ASCII characters, and a URI if it has a colon')
      .optional()
      .register(harmless),
    signingKey: signingKey.optional().register(harmless),
  },
  "must be an object, as in { keyPrefix: 'LIC-' }",
)

export const licenses: z.ZodType<LicenseSettings> = options
  .transform(({ issuer: signer, signingKey: keys, ...rules }, context) => {
    if (signer !== undefined && keys !== undefined) return { ...rules, signing: { issuer: signer, keys } }
    if (signer === undefined && keys === undefined) return rules
    // An owner whose key is missing in the environment must hear of it before the first customer does.
    const [missing, present] = signer === undefined ? ['issuer', 'signingKey'] : ['signingKey', 'issuer']
    context.addIssue({ code: 'custom', path: [missing], message: `is needed with ${present}` })
    return z.NEVER
  })
  .prefault({})
  .register(harmless)

/** The admin signs nothing, so it keeps no key. */
export const licenseRules: z.ZodType<LicenseRuleSettings> = licenses
  .transform(({ keyPrefix, statuses, allowWildcards }) => ({ keyPrefix, statuses, allowWildcards }))
  .register(harmless)
