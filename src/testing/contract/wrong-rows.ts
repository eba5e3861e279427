import { strictEqual } from 'node:assert/strict'
import { comparedDomain } from '../../domain/compared-domain.ts'
import type { MaybePromise } from '../../domain/maybe-promise.ts'
import type { AdminStorage } from '../../ports/storage.ts'
import { enoughTime } from './bound.ts'
import {
  equalValues,
  hashOf,
  inTurn,
  makeClient,
  makeCode,
  makeCredential,
  makeLicense,
  makeReseller,
  nameOf,
  rejectsAs,
  type ContractCase,
} from './context.ts'

/** What programs without types pass: rows of another database, dates that are none, members left out. */
const noTimes = [NaN, Infinity, 1.5, -1, '1000', new Date(1000), undefined]
const noIdentifiers = [42, '', 'é', 'a\0', 'x'.repeat(256), undefined]
const noTexts = [42, 'a\0b', '\uD800', 'x'.repeat(256)]
const noScopes = ['a  b', ' a', 'a ', ['a'], 'a"b', 's'.repeat(1025), undefined]
const noHashes = ['0'.repeat(32), new Uint8Array(31), new Uint8Array(33), undefined]
const noUris = ['https://app.example/', [42], [`https://app.example/${'p'.repeat(2029)}`]]

/** Expects that a value is refused. A failure names what refuses it, for an author who has left that out. */
function refusesValue(call: () => MaybePromise<unknown>, what: string): Promise<void> {
  return rejectsAs('invalid', call, `withCheckedRows of utility-api/storage refuses ${what}`)
}

/** Makes a call with each wrong value of each member in turn, and expects that it is refused. */
async function refuses(
  wrong: Readonly<Record<string, readonly unknown[]>>,
  call: (fields: never) => MaybePromise<unknown>,
): Promise<void> {
  await inTurn(Object.entries(wrong), ([member, values]) =>
    inTurn(values, (value) =>
      refusesValue(() => call({ [member]: value } as never), `${member}: ${String(value)}`),
    ),
  )
}

/** Returns a method that takes anything, as JavaScript calls it. */
function loose(
  admin: AdminStorage,
  method: keyof AdminStorage,
): (...args: unknown[]) => MaybePromise<unknown> {
  const call = (admin[method] as (...args: unknown[]) => MaybePromise<unknown>).bind(admin)
  return (...args) => call(...args, enoughTime())
}

export const wrongRowCases: readonly ContractCase[] = [
  {
    name: 'a credential that cannot be kept as it is is refused, or a token without a date is accepted for ever',
    needs: ['unboundAdmin', 'admin'],
    async run({ unboundAdmin, admin }) {
      const insert = loose(unboundAdmin, 'insertCredential')
      await refuses(
        {
          id: noIdentifiers,
          ownerId: noIdentifiers,
          subject: noIdentifiers,
          scope: noScopes,
          createdAt: noTimes,
          expiresAt: noTimes,
          revokedAt: noTimes,
          name: [...noTexts, null],
        },
        (fields: object) =>
          insert('access_token', hashOf(1), { ...makeCredential(nameOf('token')), ...fields }),
      )
      await refuses({ hash: noHashes }, ({ hash }: { hash: unknown }) =>
        insert('access_token', hash, makeCredential(nameOf('token'))),
      )
      await refuses({ kind: ['token', undefined] }, ({ kind }: { kind: unknown }) =>
        insert(kind, hashOf(1), makeCredential(nameOf('token'))),
      )
      strictEqual(await admin.findCredential('access_token', hashOf(1)), null)
      strictEqual(await admin.revokeCredential({ id: nameOf('token') }, 5), false)
    },
  },
  {
    name: 'a code that cannot be kept as it is is refused, or an exchange buys what nobody granted',
    needs: ['unboundAdmin', 'admin'],
    async run({ unboundAdmin, admin }) {
      const insert = loose(unboundAdmin, 'insertAuthorizationCode')
      await refuses(
        {
          clientId: noIdentifiers,
          subject: noIdentifiers,
          redirectUri: [42, 'a\0', 'x'.repeat(2049), undefined],
          scope: noScopes,
          codeChallenge: [42, 'x'.repeat(129), undefined],
          expiresAt: [...noTimes, null],
          redeemedAt: noTimes,
        },
        (fields: object) => insert(hashOf(1), { ...makeCode(), ...fields }),
      )
      await refuses({ hash: noHashes }, ({ hash }: { hash: unknown }) => insert(hash, makeCode()))
      strictEqual(await admin.findAuthorizationCode(hashOf(1)), null)
    },
  },
  {
    name: 'a client that cannot be kept as it is is refused, or its secret or its redirect URI is another',
    needs: ['unboundAdmin', 'admin'],
    async run({ unboundAdmin, admin }) {
      const insert = loose(unboundAdmin, 'insertClient')
      const wrong = { redirectUris: [...noUris, null], name: [...noTexts, null] }
      const hashes = noHashes.map((hash) => [hash])
      const whole = { clientId: noIdentifiers, secretHashes: [...hashes, hashOf(1)] }
      const times = { createdAt: noTimes, revokedAt: noTimes }
      const clientType = ['secret', '', 7, null]
      await refuses({ ...wrong, ...whole, ...times, clientType }, (fields: object) =>
        insert({ ...makeClient(), ...fields }),
      )
      strictEqual(await admin.findClient(nameOf('client')), null)
      await admin.insertClient(makeClient())
      await refuses(wrong, (patch) => loose(unboundAdmin, 'updateClient')(nameOf('client'), patch))
      await refuses({ hash: noHashes }, ({ hash }: { hash: unknown }) =>
        loose(unboundAdmin, 'rotateClientSecret')(nameOf('client'), hash),
      )
      equalValues(await admin.findClient(nameOf('client')), makeClient())
    },
  },
  {
    name: 'a reseller or a license that cannot be kept as it is is refused, or it has a name that nobody gave it',
    needs: ['unboundAdmin', 'admin'],
    async run({ unboundAdmin, admin }) {
      const insertReseller = loose(unboundAdmin, 'insertReseller')
      await refuses(
        { resellerId: noIdentifiers, createdAt: noTimes, name: [...noTexts, null] },
        (fields: object) => insertReseller({ ...makeReseller(), ...fields }),
      )
      strictEqual(await admin.findReseller(nameOf('reseller')), null)
      const key = nameOf('key')
      const license = { ...makeLicense(key), comparedDomain: comparedDomain('example.com') }
      const wrong = [42, null, undefined]
      const texts = { licenseKey: wrong, registeredTo: wrong, domainOrIp: wrong, comparedDomain: wrong }
      const others = { status: wrong, resellerId: wrong, createdAt: noTimes, updatedAt: noTimes }
      const insertLicense = loose(unboundAdmin, 'insertLicense')
      await refuses({ ...texts, ...others }, (fields: object) =>
        insertLicense({ ...license, ...fields }, undefined),
      )
      strictEqual(await admin.findLicense(key), null)
      await admin.insertLicense(makeLicense(key))
      const change = loose(unboundAdmin, 'changeLicense')
      await refuses({ registeredTo: noTexts, status: noTexts, resellerId: [42, '', 'é'] }, (fields) =>
        change(key, fields, 5),
      )
      const moved = { domainOrIp: 'other.example', comparedDomain: 'other.example' }
      await refuses({ domainOrIp: noTexts, comparedDomain: noTexts }, (fields: object) =>
        change(key, { ...moved, ...fields }, 5),
      )
      // A domain without its compared form would be listed as the one before it.
      await refuses({ domainOrIp: ['other.example'] }, (fields) => change(key, fields, 5))
      await refuses({ at: noTimes }, ({ at }: { at: unknown }) => change(key, { status: 'new' }, at))
      equalValues(await admin.findLicense(key), makeLicense(key))
    },
  },
  {
    name: 'a revocation without a time is refused, or it is acknowledged and the credential stays in use',
    needs: ['unboundAdmin', 'admin'],
    async run({ unboundAdmin, admin }) {
      const [clientId, subject, id] = [nameOf('client'), nameOf('Ada'), nameOf('token')]
      const token = makeCredential(id, { ownerId: clientId, subject })
      await admin.insertClient(makeClient())
      await admin.insertAuthorizationCode(hashOf(1), makeCode({ subject, expiresAt: 9 }))
      await admin.insertCredential('access_token', hashOf(2), token)
      await inTurn(noTimes, (at) =>
        inTurn(
          [
            ['revokeCredential', { id }],
            ['revokeCredential', { hash: hashOf(2) }],
            ['revokeAccess', { clientId }],
            ['revokeAccess', { subject }],
            ['revokeAccess', { resellerId: clientId }],
            ['revokeClient', clientId],
          ] as const,
          ([method, which]) =>
            refusesValue(() => loose(unboundAdmin, method)(which, at), `${method} at ${String(at)}`),
        ),
      )
      await refuses({ at: noTimes }, ({ at }: { at: unknown }) => loose(unboundAdmin, 'purgeExpired')(at))
      equalValues(await admin.findClient(clientId), makeClient())
      equalValues(await admin.findAuthorizationCode(hashOf(1)), makeCode({ subject, expiresAt: 9 }))
      equalValues(await admin.findCredential('access_token', hashOf(2)), token)
    },
  },
  {
    name: 'a change by an identifier that is a number is refused, or it finds nothing and nobody notices',
    needs: ['unboundAdmin'],
    async run({ unboundAdmin }) {
      await refuses({ id: [42], hash: noHashes }, (which) =>
        loose(unboundAdmin, 'revokeCredential')(which, 5),
      )
      await refuses({ clientId: [42], subject: [42], resellerId: [42] }, (which) =>
        loose(unboundAdmin, 'revokeAccess')(which, 5),
      )
      await inTurn(
        [
          ['revokeClient', 5],
          ['updateClient', {}],
          ['rotateClientSecret', hashOf(1)],
          ['changeLicense', {}, 5],
        ] as const,
        ([method, ...rest]) =>
          refusesValue(() => loose(unboundAdmin, method)(42, ...rest), `42 in ${method}`),
      )
    },
  },
]
