import { StorageError, type License } from 'utility-api/storage'
import { hashSecret } from '../../../src/domain/secret.ts'
import { show, type Model } from '../../../src/testing/contract/model.ts'
import type { Step } from '../../../src/testing/contract/order.ts'
import { portCall, type Method } from '../../histories/support/port-call.ts'
import { sendToFetch, type TestRequest } from '../../http/support/send.ts'
import * as world from './world.ts'

/** A call of a server, and what it must do. */
export interface Call {
  readonly name: string
  /** Asks a server, and returns what it answers. Rejects with `unavailable` if it does not say whether it was done. */
  ask(server: world.Server): Promise<unknown>
  /** What the call to this server does to the model, and returns; perhaps more, if it has had a fault. */
  stepsOn(server: string, hadFault: boolean): readonly Step[]
}

/** A request: its caller is authenticated, and what it asks for is then done in one step. */
function request(
  name: string,
  asked: TestRequest,
  refuses: (model: Model) => string | undefined,
  does: (model: Model, server: string) => unknown,
): Call {
  return {
    name,
    async ask({ api }) {
      const { status, json } = await sendToFetch(api, asked)
      const { access_token: token, data, error, code, ...rest } = json as Record<string, unknown>
      if (status === 500 && /database/.test(show(rest))) throw new StorageError('unavailable', show(rest))
      return token ?? (data as { license_key: string } | undefined)?.license_key ?? error ?? code ?? status
    },
    stepsOn: (server) => [refuses, (model, refusal) => refusal ?? does(model, server)],
  }
}

function exchange(name: string, code: string): Call {
  const fields = { grant_type: 'authorization_code', code, redirect_uri: world.redirectUri }
  const client = { client_id: 'shop', client_secret: world.clientSecret }
  const asked = {
    method: 'POST',
    path: '/v4/oauth2/token',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ ...fields, ...client }),
  }
  const refuses = (model: Model): string | undefined =>
    isClientRevoked(model) ? 'invalid_client' : undefined
  return request(name, asked, refuses, (model, server) => {
    if (model.redeemAuthorizationCode(hashSecret(code), world.now, world.boughtToken(server)) === true)
      return world.secretOf(server, 'access_token')
    void model.revokeAccessTokensOfCode(hashSecret(code), world.now)
    return 'invalid_grant'
  })
}

function refusesToken(secret: string): (model: Model) => string | undefined {
  return (model) =>
    isRevoked(model.findCredential('reseller_token', hashSecret(secret))) ? 'invalid_token' : undefined
}

function isRevoked(row: unknown): boolean {
  return (row as { revokedAt: number | null }).revokedAt !== null
}

function generate(name: string, key: string, registeredTo: string): Call {
  const headers = {
    Authorization: `Bearer ${world.tokens.r1}`,
    'X-Registered-To': registeredTo,
    'X-Domain-Or-IP': 'shop.example',
    'X-Status': 'valid',
    'Idempotency-Key': key,
  }
  const asked = { method: 'POST', path: '/v2/reseller/licenses/generate', headers }
  return request(name, asked, refusesToken(world.tokens.r1), (model, server) => {
    const order = world.orderOf(key, registeredTo)
    const answer = model.insertLicense(world.licenseRow(world.keyOf(server), registeredTo), order)
    if (typeof answer !== 'object') return world.keyOf(server)
    const { replay, requestHash } = answer as { replay: string; requestHash: Uint8Array }
    return Buffer.compare(requestHash, order?.requestHash ?? requestHash) === 0
      ? replay
      : 'idempotency_mismatch'
  })
}

function update(name: string, resellerId: 'r1' | 'r2', header: string, patch: Partial<License>): Call {
  const token = world.tokens[resellerId]
  const headers = { Authorization: `Bearer ${token}`, [header]: Object.values(patch).join('') }
  const asked = { method: 'PUT', path: '/v2/reseller/LIC-1/update', headers }
  return request(name, asked, refusesToken(token), (model) => {
    const answer = model.updateLicense({ licenseKey: 'LIC-1', resellerId, patch, at: world.now })
    const codes = { updated: 200, not_found: 'license_not_found', not_owner: 'license_owner_mismatch' }
    return codes[answer as keyof typeof codes]
  })
}

/** What the owner of the service asks. */
function owned(
  name: string,
  ask: (admin: world.Server['admin']) => Promise<unknown>,
  stepsOn: Call['stepsOn'],
): Call {
  return {
    name,
    ask: ({ admin }) =>
      ask(admin).catch((error: { code?: string }) => {
        if (error.code === 'invalid_argument') return error.code
        throw error
      }),
    stepsOn,
  }
}

/** What is one call of the port. */
function asPort<Name extends Method>(...call: Parameters<typeof portCall<Name>>): Call['stepsOn'] {
  return () => portCall(...call).steps
}

const grant = { clientId: 'shop', scope: 'a', subject: 'ada' }
const isClientRevoked = (model: Model): boolean => isRevoked(model.findClient('shop'))

const issueCode = owned(
  'issue code',
  async (admin) => (await admin.issueAuthorizationCode({ ...grant, redirectUri: world.redirectUri })).code,
  (server) => [
    (model) => {
      if (isClientRevoked(model)) return 'invalid_argument'
      const code = world.secretOf(server, 'authorization_code')
      void model.insertAuthorizationCode(hashSecret(code), world.codeRow())
      return code
    },
  ],
)

/**
 * If its client is revoked before the second step, or that fails, the token is revoked. After a fault, one may also be
 * left that was stored too late: nobody was told its secret.
 */
const createToken = owned(
  'create token',
  async (admin) => (await admin.createAccessToken(grant)).accessToken,
  (server, hadFault) => [
    (model) => {
      if (isClientRevoked(model) && !hadFault) return 'invalid_argument'
      const { hash, ...token } = world.boughtToken(server)
      void model.insertCredential('access_token', hash, { ...token, revokedAt: null })
      return world.secretOf(server, 'access_token')
    },
    (model, told) => {
      if (told === 'invalid_argument' || !(hadFault || isClientRevoked(model))) return told
      void model.revokeCredential({ id: world.idOf(server) }, world.now)
      return 'invalid_argument'
    },
  ],
)

/** Requests on what clients have. */
export const accessRequests: readonly Call[] = [
  exchange('exchange', 'fresh'),
  exchange('replay', 'spent'),
  issueCode,
  createToken,
  owned(
    'revoke token',
    (admin) => admin.revoke({ id: world.idOf('old') }),
    asPort('revokeCredential', { id: world.idOf('old') }, world.now),
  ),
  owned('revoke client', (admin) => admin.revokeClient('shop'), asPort('revokeClient', 'shop', world.now)),
  owned(
    'end client',
    async (admin) => {
      await admin.revokeClient('shop')
      return admin.revokeAccess({ clientId: 'shop' })
    },
    () => [
      ...portCall('revokeClient', 'shop', world.now).steps,
      ...portCall('revokeAccess', { clientId: 'shop' }, world.now).steps,
    ],
  ),
  ...[{ clientId: 'shop' }, { subject: 'ada' }].map((which) =>
    owned(
      `revoke access of ${Object.keys(which).join('')}`,
      (admin) => admin.revokeAccess(which),
      asPort('revokeAccess', which, world.now),
    ),
  ),
]

/** Requests on licenses, and what ends those of a reseller. */
export const licenseRequests: readonly Call[] = [
  generate('generate', 'order', 'Ada'),
  generate('generate for another', 'order', 'Grace'),
  generate('generate what is forgotten', 'forgotten', 'Ada'),
  update('update', 'r1', 'X-Registered-To', { registeredTo: 'Grace' }),
  update('update another field', 'r1', 'X-Status', { status: 'invalid' }),
  update('update as another', 'r2', 'X-Status', { status: 'invalid' }),
  owned(
    'move',
    (admin) => admin.updateLicense('LIC-1', { resellerId: 'r2' }),
    asPort('changeLicense', 'LIC-1', { resellerId: 'r2' }, world.now),
  ),
  owned('delete', (admin) => admin.deleteLicense('LIC-1'), asPort('deleteLicense', 'LIC-1')),
  owned(
    'revoke access of resellerId',
    (admin) => admin.revokeAccess({ resellerId: 'r1' }),
    asPort('revokeAccess', { resellerId: 'r1' }, world.now),
  ),
]
