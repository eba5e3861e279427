import * as z from 'zod'
import { invalidArgument, unlessObject } from '../domain/arguments.ts'
import { exactObject, harmless, requiredNames } from '../domain/exact-object.ts'
import { notKnown } from '../domain/near-name.ts'
import { namesOf, type Issue } from '../domain/option-problem.ts'
import type { Admin } from './admin.ts'

const text = z.string('must be a string')
/** What people type, trimmed as in the operations: a name with a space behind it would refuse somebody who has paid. */
const typed = text.trim()
const scope = z.string("must be a string, '' for none")
const textOrNull = z.string('must be a string or null').nullable()
const texts = z.array(text, 'must be an array of strings')
const count = z.number('must be a number')
const date = z.date('must be a valid Date').min(0, 'must not be before 1970')
const dateOrNull = date.nullable()
const harmlessText = text.optional().register(harmless)
const label = { name: harmlessText }
const page = { limit: count.optional().register(harmless), after: harmlessText }
const query = z.custom(
  (value) => typeof (value as Partial<URLSearchParams> | null)?.getAll === 'function',
  'must be URLSearchParams: write new URL(request.url, issuer).searchParams',
)

/** An object with these members, and what it looks like in the sentence for anything else. */
function members(shape: z.ZodRawShape): z.ZodType {
  const example = requiredNames(shape).join(', ') || Object.keys(shape)[0]
  return exactObject(shape, `must be an object, as in { ${example} }`)
}

/** Complete: without its challenge, the code would need no verifier. */
function asked(): z.ZodType {
  const row = { clientId: text, redirectUri: text, scope: text, state: textOrNull, codeChallenge: textOrNull }
  return z.looseObject(row, unlessObject)
}

/**
 * What the arguments of each method are made of, by their names. Without them, a misspelled member would be ignored,
 * and a wrong type would fail in the middle of the work. What the values may be is decided by the methods. The schemas
 * are made when a method is called for the first time, because a start should not pay for twenty methods.
 */
const argumentsOf: { readonly [Method in keyof Admin]: () => Readonly<Record<string, z.ZodType>> } = {
  createClient: () => ({
    client: members({
      ...label,
      redirectUris: texts,
      clientType: harmlessText,
      clientId: harmlessText,
      clientSecret: harmlessText,
    }),
  }),
  updateClient: () => ({ clientId: text, patch: members({ ...label, redirectUris: texts.optional() }) }),
  rotateClientSecret: () => ({ clientId: text }),
  revokeClient: () => ({ clientId: text }),
  readAuthorizationRequest: () => ({
    query,
    options: members({ scopes: texts, defaultScope: harmlessText }),
  }),
  grantAuthorization: () => ({
    request: asked(),
    grant: members({
      subject: text.optional(),
      scope: text.optional(),
      lifetimeSeconds: count.optional(),
    }).optional(),
  }),
  denyAuthorization: () => ({
    request: asked(),
    reason: members({ error: harmlessText, description: harmlessText }).optional(),
  }),
  authorizationServerMetadata: () => ({
    endpoints: members({
      authorizationEndpoint: text,
      tokenEndpoint: text,
      scopes: texts.optional().register(harmless),
      publicClients: z.boolean('must be true or false').optional().register(harmless),
    }),
  }),
  protectedResourceMetadata: () => ({
    resource: members({
      resource: text,
      authorizationServers: texts,
      scopes: texts.optional().register(harmless),
    }),
  }),
  issueAuthorizationCode: () => ({
    code: members({
      clientId: text,
      redirectUri: text,
      scope,
      subject: text.optional(),
      codeChallenge: text.optional(),
      lifetimeSeconds: count.optional(),
    }),
  }),
  createReseller: () => ({
    reseller: members({
      ...label,
      resellerId: harmlessText,
      tokenLifetimeSeconds: count.optional(),
    }).optional(),
  }),
  createResellerToken: () => ({
    resellerId: text,
    options: members({ lifetimeSeconds: count.optional() }).optional(),
  }),
  createAccessToken: () => ({
    token: members({
      scope,
      lifetimeSeconds: count.optional(),
      clientId: text.optional(),
      subject: text.optional(),
    }),
  }),
  createApiKey: () => ({
    key: members({ ...label, permissions: texts.optional(), lifetimeSeconds: count.optional() }).optional(),
  }),
  revoke: () => ({
    which: z.union([members({ id: text }), members({ secret: text })], 'must be either { id } or { secret }'),
  }),
  revokeAccess: () => ({
    which: z.union(
      [members({ clientId: text }), members({ subject: text }), members({ resellerId: text })],
      'must be either { clientId }, { subject } or { resellerId }',
    ),
  }),
  createLicense: () => ({
    license: members({
      resellerId: text,
      registeredTo: typed,
      domainOrIp: typed,
      status: text.optional(),
      reference: text.optional(),
      expiresAt: date.optional(),
      licenseKey: text.optional(),
      createdAt: date.optional(),
    }),
  }),
  getLicense: () => ({ licenseKey: text }),
  updateLicense: () => ({
    licenseKey: text,
    change: members({
      registeredTo: typed.optional(),
      domainOrIp: typed.optional(),
      status: text.optional(),
      resellerId: text.optional(),
      reference: textOrNull.optional(),
      expiresAt: dateOrNull.optional(),
    }),
  }),
  deleteLicense: () => ({ licenseKey: text }),
  listClients: () => ({ page: members(page).optional() }),
  listResellers: () => ({ page: members(page).optional() }),
  listCredentials: () => ({ page: members({ ...page, kind: text, ownerId: text.optional() }) }),
  listLicenses: () => ({
    page: members({
      ...page,
      resellerId: text.optional(),
      domainOrIp: typed.optional(),
      status: text.optional(),
      reference: text.optional(),
      endsFrom: date.optional(),
      endsBefore: date.optional(),
    }).optional(),
  }),
  countLicenses: () => ({ filter: members({ resellerId: text.optional() }).optional() }),
  purgeExpired: () => ({}),
}

/** The methods that ask no storage and return no promise. */
const returnAtOnce: ReadonlySet<string> = new Set([
  'authorizationServerMetadata',
  'protectedResourceMetadata',
])

/** Returns the same methods, which refuse arguments that are not made of what they should be. */
export function withCheckedArguments(admin: Admin): Admin {
  const checked = Object.entries(admin).map(([name, method]: [string, (...args: unknown[]) => unknown]) => {
    let schemas: readonly Argument[] | undefined
    const parsed = (args: unknown[]): unknown[] => {
      schemas ??= Object.entries(argumentsOf[name as keyof Admin]())
      return parse(schemas, args)
    }
    if (returnAtOnce.has(name)) return [name, (...args: unknown[]) => method(...parsed(args))]
    return [name, async (...args: unknown[]) => method(...parsed(args))]
  })
  return Object.fromEntries(checked) as Admin
}

type Argument = readonly [name: string, schema: z.ZodType]

function parse(schemas: readonly Argument[], args: readonly unknown[]): unknown[] {
  return schemas.map(([argument, schema], index) => {
    const { data, error } = schema.safeParse(args[index], { error: argumentProblem })
    // A member with a mistake in its name is also one that is missing.
    const issues = error?.issues ?? []
    const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0]
    if (issue === undefined) return data
    const problem =
      issue.code === 'unrecognized_keys'
        ? issue.message
        : `${issue.path.join('.') || argument} ${issue.message}.`
    throw invalidArgument(problem)
  })
}

/** The sentence on a member that nobody knows. All other schemas have one of their own. */
function argumentProblem({ code, keys = [], inst }: Issue): string | undefined {
  return code === 'unrecognized_keys' ? notKnown(keys[0] ?? '', namesOf(inst)) : undefined
}
