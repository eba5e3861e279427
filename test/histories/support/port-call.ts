import { show } from '../../../src/testing/contract/model.ts'
import type { BoundAdmin } from '../../../src/testing/contract/bound.ts'
import type { Step } from '../../../src/testing/contract/order.ts'
import { anything, type HistoryCall } from './judge.ts'

/** The methods that read and change rows. */
export type Method = keyof BoundAdmin
type Reference = Parameters<BoundAdmin['revokeAccess']>[0]
type Rows = { readonly [Name in Method]: (...args: Parameters<BoundAdmin[Name]>) => string[] }

const hash = (prefix: string, bytes: Uint8Array): string => `${prefix} ${Buffer.from(bytes).toString('hex')}`
const code = (bytes: Uint8Array): string => hash('code', bytes)
const secret = (bytes: Uint8Array): string => hash('secret', bytes)
const owner = (id: string): string => `owner ${id}`
const license = (key: string): string => `license ${key}`
const credential = (
  bytes: Uint8Array,
  of: { id: string; ownerId: string; subject: string | null },
): string[] => [secret(bytes), `id ${of.id}`, owner(of.ownerId), ...subject(of.subject)]
const subject = (name: string | null): string[] => (name === null ? [] : [`subject ${name}`])

/** What each method touches. Names are enough to judge apart what has nothing in common. */
export const touches: Rows = {
  findClient: (id) => [owner(id)],
  findAuthorizationCode: (bytes) => [code(bytes)],
  redeemAuthorizationCode: (bytes, _, token) => [code(bytes), ...credential(token.hash, token)],
  revokeAccessTokensOfCode: (bytes) => [code(bytes)],
  findCredential: (_, bytes) => [secret(bytes)],
  insertLicense: ({ licenseKey }, key) => [
    license(licenseKey),
    ...(key === undefined ? [] : [hash(`key of ${key.resellerId}`, key.keyHash)]),
  ],
  updateLicense: ({ licenseKey }) => [license(licenseKey)],
  findLicense: (key) => [license(key)],
  insertClient: ({ clientId }) => [owner(clientId)],
  updateClient: (id) => [owner(id)],
  rotateClientSecret: (id) => [owner(id)],
  revokeClient: (id) => [owner(id)],
  insertAuthorizationCode: (bytes, of) => [code(bytes), owner(of.clientId), ...subject(of.subject)],
  insertReseller: ({ resellerId }) => [owner(resellerId)],
  findReseller: (id) => [owner(id)],
  insertCredential: (_, bytes, row) => credential(bytes, row),
  revokeCredential: (which) => ['id' in which ? `id ${which.id}` : secret(which.hash)],
  revokeAccess: (which) =>
    'subject' in which
      ? subject(which.subject)
      : [owner('clientId' in which ? which.clientId : which.resellerId)],
  changeLicense: (key) => [license(key)],
  deleteLicense: (key) => [license(key)],
  purgeExpired: () => [anything],
}

/** Returns what a call of the port does and touches; all else is for who saw it. */
export function portCall<Name extends Method>(
  method: Name,
  ...args: Parameters<BoundAdmin[Name]>
): Pick<HistoryCall, 'text' | 'touches' | 'steps'> {
  const named: readonly string[] = (touches[method] as (...of: unknown[]) => string[])(...args)
  return { text: `${method}(${args.map(show).join(', ')})`, touches: named, steps: stepsOf(method, args) }
}

function stepsOf(method: Method, args: readonly unknown[]): readonly Step[] {
  if (method === 'revokeClient') {
    const [clientId, at] = args as [string, number]
    return [
      (model) => model.closeClient(clientId, at),
      (model, revoked) => (model.endCodes({ clientId }), revoked),
    ]
  }
  if (method === 'revokeAccess') {
    const [which, at] = args as [Reference, number]
    return [
      (model) => model.endCodes(which),
      (model, codes) => ({ codes, tokens: model.revokeTokens(which, at) }),
    ]
  }
  return [(model) => (model[method] as (...of: readonly unknown[]) => unknown)(...args)]
}
