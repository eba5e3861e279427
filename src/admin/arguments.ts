import { z } from 'zod'
import { isOptions, unlessObject } from '../domain/arguments.ts'
import { UtilityApiError } from '../domain/errors.ts'
import type { Admin } from './admin.ts'

const text = z.string('must be a string')
const textOrNull = z.string('must be a string or null').nullable()
const texts = z.array(text, 'must be an array of strings')
const count = z.number('must be a number')
const label = { name: text.optional() }
const page = { after: text.optional(), limit: count.optional() }
const query = z.custom(
  (value) => typeof (value as Partial<URLSearchParams> | null)?.getAll === 'function',
  'must be URLSearchParams',
)

/** A map or a list has no members, so it would pass for an object whose members were all left out. */
function members<Shape extends z.ZodRawShape>(shape: Shape): z.ZodType {
  return z.custom(isOptions, 'must be an object').pipe(z.strictObject(shape))
}

/**
 * What the arguments of each method are made of, by their names. A misspelled member would otherwise be ignored, and a
 * wrong type end in the middle of the work. What the values may be is decided by the methods.
 */
const argumentsOf: { readonly [Method in keyof Admin]: Readonly<Record<string, z.ZodType>> } = {
  createClient: {
    client: members({
      ...label,
      redirectUris: texts,
      clientId: text.optional(),
      clientSecret: text.optional(),
    }),
  },
  updateClient: { clientId: text, patch: members({ ...label, redirectUris: texts.optional() }) },
  rotateClientSecret: { clientId: text },
  revokeClient: { clientId: text },
  readAuthorizationRequest: { query, options: members({ scopes: texts }) },
  grantAuthorization: {
    // Complete: without its challenge, the code would need no verifier.
    request: z.looseObject(
      { clientId: text, redirectUri: text, scope: text, state: textOrNull, codeChallenge: textOrNull },
      unlessObject(),
    ),
    grant: members({ subject: text.optional(), scope: text.optional() }).optional(),
  },
  denyAuthorization: { request: z.looseObject({ redirectUri: text, state: textOrNull }, unlessObject()) },
  issueAuthorizationCode: {
    code: members({
      clientId: text,
      redirectUri: text,
      scope: text,
      subject: text.optional(),
      codeChallenge: text.optional(),
      lifetimeSeconds: count.optional(),
    }),
  },
  createReseller: { reseller: members({ ...label, resellerId: text.optional() }).optional() },
  createResellerToken: { resellerId: text },
  createAccessToken: {
    token: members({
      scope: text,
      lifetimeSeconds: count.optional(),
      clientId: text.optional(),
      subject: text.optional(),
    }),
  },
  createApiKey: { key: members({ ...label, permissions: texts.optional() }).optional() },
  revoke: {
    which: z.union([members({ id: text }), members({ secret: text })], 'must have either id or secret'),
  },
  revokeAccess: {
    which: z.union(
      [members({ clientId: text }), members({ subject: text })],
      'must have either clientId or subject',
    ),
  },
  getLicense: { licenseKey: text },
  updateLicense: {
    licenseKey: text,
    change: members({
      registeredTo: text.optional(),
      domainOrIp: text.optional(),
      status: text.optional(),
      resellerId: text.optional(),
    }),
  },
  deleteLicense: { licenseKey: text },
  listClients: { page: members(page).optional() },
  listResellers: { page: members(page).optional() },
  listCredentials: { page: members({ ...page, kind: text, ownerId: text.optional() }) },
  listLicenses: { page: members({ ...page, resellerId: text.optional() }).optional() },
  countLicenses: { filter: members({ resellerId: text.optional() }).optional() },
  purgeExpired: {},
}

/** Returns the same methods, which refuse arguments that are not made of what they should be. */
export function withCheckedArguments(admin: Admin): Admin {
  const checked = Object.entries(admin).map(([name, method]: [string, (...args: unknown[]) => unknown]) => [
    name,
    (...args: unknown[]) => {
      const problem = problemOf(argumentsOf[name as keyof Admin], args)
      if (problem === null) return method(...args)
      const error = new UtilityApiError('invalid_argument', problem)
      if (name === 'denyAuthorization') throw error
      return Promise.reject(error)
    },
  ])
  return Object.fromEntries(checked) as Admin
}

function problemOf(schemas: Readonly<Record<string, z.ZodType>>, args: readonly unknown[]): string | null {
  for (const [index, [argument, schema]] of Object.entries(schemas).entries()) {
    const [issue] = schema.safeParse(args[index]).error?.issues ?? []
    if (issue?.code === 'unrecognized_keys') return `${issue.keys[0]} is not known here.`
    if (issue !== undefined) return `${issue.path.join('.') || argument} ${issue.message}.`
  }
  return null
}
