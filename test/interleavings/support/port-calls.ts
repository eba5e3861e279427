import { StorageError, type NewAccessToken } from 'utility-api/storage'
import { inTime } from '../../../src/bounds/in-time.ts'
import { hashSecret } from '../../../src/domain/secret.ts'
import { bindAdmin, type BoundAdmin } from '../../../src/testing/contract/bound.ts'
import { portCall, type Method } from '../../histories/support/port-call.ts'
import { call } from '../../storage/support/call.ts'
import type { Call } from './requests.ts'
import * as world from './world.ts'

/** A call of a method that writes, by the server of this name. */
function port<Name extends Method>(
  method: Name,
  argsOf: (server: string) => Parameters<BoundAdmin[Name]>,
  of: string = '',
): Call {
  return {
    name: `${method}${of}`,
    async ask({ name, storage }) {
      return (bindAdmin(storage)[method] as (...args: unknown[]) => unknown)(...argsOf(name))
    },
    stepsOn: (server) => portCall(method, ...argsOf(server)).steps,
  }
}

const { now, licenseRow, orderOf, keyOf, idOf } = world
const spend =
  (code: string) =>
  (server: string): [Uint8Array, number, NewAccessToken] => [hashSecret(code), now, world.boughtToken(server)]
const owner = { subject: null, scope: '', createdAt: now, expiresAt: null, revokedAt: null }

const use = ['reseller_token', ['token of r1'], 86_400_000] as const

/** Each method that writes, on rows that others write too. */
export const portCalls: readonly Call[] = [
  port('redeemAuthorizationCode', spend('fresh')),
  port('redeemAuthorizationCode', spend('late'), ' of an expired code'),
  port('revokeAccessTokensOfCode', () => [hashSecret('fresh'), now]),
  port('insertLicense', () => [licenseRow('LIC-new')]),
  port('insertLicense', (server) => [licenseRow(keyOf(server)), orderOf('order', 'Ada')], ' once'),
  port('insertLicense', (server) => [licenseRow(keyOf(server)), orderOf('forgotten', 'Ada')], ' again'),
  port('updateLicense', () => [
    { licenseKey: 'LIC-1', resellerId: 'r1', patch: { status: 'invalid' }, at: now },
  ]),
  port('insertClient', (server) => [
    { clientId: 'new', name: server, secretHashes: [], redirectUris: [], createdAt: now, revokedAt: null },
  ]),
  port('updateClient', (server) => ['shop', { name: server }]),
  port('rotateClientSecret', (server) => ['shop', hashSecret(server)]),
  port('revokeClient', () => ['shop', now]),
  port('insertAuthorizationCode', () => [hashSecret('new'), world.codeRow()]),
  port('insertReseller', (server) => [{ resellerId: 'new', name: server, createdAt: now }]),
  port('insertCredential', (server) => [
    'reseller_token',
    hashSecret(server),
    { ...owner, id: 'id-new', ownerId: 'new' },
  ]),
  port('revokeCredential', () => [{ id: idOf('old') }, now]),
  port('revokeAccess', () => [{ clientId: 'shop' }, now], ' of a client'),
  port('revokeAccess', () => [{ subject: 'ada' }, now], ' of a subject'),
  port('changeLicense', () => ['LIC-1', { resellerId: 'r2', registeredTo: 'Grace' }, now]),
  port('deleteLicense', () => ['LIC-1']),
  {
    name: 'purgeExpired',
    // Without its counts: of two at once, each may have deleted some of the rows.
    async ask({ storage }) {
      await bindAdmin(storage).purgeExpired(now)
    },
    stepsOn: () => [(model) => void model.purgeExpired(now)],
  },
  {
    name: 'recordUse',
    ask: ({ storage }) =>
      inTime(
        1000,
        () => storage.recordUse?.(...use, call),
        () => new StorageError('unavailable', 'late'),
      ),
    stepsOn: () => [(model) => model.noteUse(...use)],
  },
]

const contested: ReadonlySet<string> = new Set([
  'redeemAuthorizationCode',
  'insertLicense once',
  'updateLicense',
  'revokeAccess of a client',
  'changeLicense',
])
/** One for each way in which a store decides a race. */
export const fewPortCalls: readonly Call[] = portCalls.filter(({ name }) => contested.has(name))
